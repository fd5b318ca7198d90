package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func replicas(set *appsv1.StatefulSet, n, partition int32) {
	set.Spec.Replicas = &n
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
}

func record(t *testing.T, set *appsv1.StatefulSet) appsv1.StatefulSetSpec {
	t.Helper()
	spec, ok := lastApplied[appsv1.StatefulSetSpec](set.ObjectMeta)
	if !ok {
		t.Fatal("no record")
	}
	return spec
}

func TestMergeSet(t *testing.T) {
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	live := have.Sets[topology.TiKV]
	replicas(live, 4, 2) // scaled, and in the middle of a rollout
	live.Annotations["theirs"] = "1"
	live.Labels["theirs"] = "1"
	live.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
	before := live.DeepCopy()

	next := load(t, "basic", func(tc *v1alpha1.TidbCluster) {
		tc.Spec.Version = "v8.5.0"
		tc.Generation = 9
		tc.Spec.TiKV.Annotations = map[string]string{"ours": "1"}
	})
	w := want(t, next, have, state.Snapshot{})
	wanted := setOf(t, w, topology.TiKV)
	got := merged(t, live, wanted)

	if diff := cmp.Diff(before, live); diff != "" {
		t.Errorf("the live object was changed:\n%s", diff)
	}
	if n, p := *got.Spec.Replicas, *partition(got); n != 4 || p != 4 {
		t.Errorf("replicas %d, partition %d, want 4 and closed", n, p)
	}
	if got.Annotations["theirs"] != "1" || got.Labels["theirs"] != "1" {
		t.Error("an addition of others is gone")
	}
	if got.Annotations[annOwnerGeneration] != "9" {
		t.Errorf("made for generation %s", got.Annotations[annOwnerGeneration])
	}
	annotations := got.Spec.Template.Annotations
	if annotations["kubectl.kubernetes.io/restartedAt"] != "now" || annotations["ours"] != "1" {
		t.Errorf("annotations of the pods: %v", annotations)
	}
	if image := got.Spec.Template.Spec.Containers[0].Image; image != "pingcap/tikv:v8.5.0" {
		t.Errorf("image %s", image)
	}
	if got.Spec.RevisionHistoryLimit == nil || got.ResourceVersion != "1" {
		t.Error("the live object's other fields are gone")
	}

	applied := record(t, got)
	if _, foreign := applied.Template.Annotations["kubectl.kubernetes.io/restartedAt"]; foreign {
		t.Error("the record has an annotation of others")
	}
	if *applied.Replicas != 4 || *applied.UpdateStrategy.RollingUpdate.Partition != 4 {
		t.Errorf("recorded replicas %d", *applied.Replicas)
	}
	if Template(got) != groupOf(t, w, topology.TiKV).Template {
		t.Error("the record is not of the wanted template")
	}
	have.Sets[topology.TiKV] = got
	if found := groupOf(t, want(t, next, have, state.Snapshot{}), topology.TiKV).Set.Drift; found != desired.None {
		t.Error("what has been merged differs again")
	}
}

// A pod annotation that the user takes away goes; one of others stays.
func TestMergeSetRemovesOwnAnnotations(t *testing.T) {
	with := load(t, "basic", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Annotations = map[string]string{"ours": "1"} })
	live := created(t, want(t, with, nothing(), state.Snapshot{})).Sets[topology.TiDB]
	live.Spec.Template.Annotations["theirs"] = "1"
	got := merged(t, live, setOf(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}), topology.TiDB))
	annotations := got.Spec.Template.Annotations
	if _, stays := annotations["ours"]; stays || annotations["theirs"] != "1" {
		t.Errorf("annotations of the pods: %v", annotations)
	}
}

func TestMergeSetClosesForMoreReplicas(t *testing.T) {
	w := want(t, load(t, "basic"), nothing(), state.Snapshot{})
	live := created(t, w).Sets[topology.TiKV]
	replicas(live, 1, 0)
	if got := merged(t, live, setOf(t, w, topology.TiKV)); *got.Spec.Replicas != 1 || *partition(got) != 3 {
		t.Errorf("replicas %d, partition %d, want 1 and 3", *got.Spec.Replicas, *partition(got))
	}
}

func TestMergeAdoptsOrphans(t *testing.T) {
	c := load(t, "basic")
	w := want(t, c, nothing(), state.Snapshot{})
	have := created(t, w)
	for _, k := range basicKinds {
		have.Sets[k].OwnerReferences = nil
	}
	have.Services["basic-pd"].OwnerReferences = nil
	have.ConfigMaps["basic-pd"].OwnerReferences = nil
	found := drifts(want(t, c, have, state.Snapshot{}))
	for _, o := range []string{"StatefulSet basic-pd", "Service basic-pd", "ConfigMap basic-pd"} {
		if found[o] != desired.Differs {
			t.Errorf("%s is an orphan and drifts %d", o, found[o])
		}
	}
	got := merged(t, have.Sets[topology.PD], setOf(t, w, topology.PD))
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != c.UID {
		t.Errorf("owners: %v", got.OwnerReferences)
	}
}

func TestManualUpdates(t *testing.T) {
	manual := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.StatefulSetUpdateStrategy = appsv1.OnDeleteStatefulSetStrategyType
	}
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	g := groupOf(t, want(t, load(t, "basic", manual), have, state.Snapshot{}), topology.PD)
	if g.Set.Drift != desired.Differs {
		t.Error("another update strategy is no difference")
	}
	if g.Template != Template(have.Sets[topology.PD]) {
		t.Error("another update strategy is another template")
	}
	got := merged(t, have.Sets[topology.PD], g.Set.Manifest.(*appsv1.StatefulSet))
	if s := got.Spec.UpdateStrategy; s.Type != appsv1.OnDeleteStatefulSetStrategyType || s.RollingUpdate != nil {
		t.Errorf("update strategy %v", s)
	}
	if s := WithPartition(got, 1).Spec.UpdateStrategy; s.RollingUpdate != nil {
		t.Errorf("partition of manual updates: %v", s.RollingUpdate)
	}
}

// tikv-11-18: a field that was set by hand stays, also through other changes, until the
// spec asks for another strategy than before.
func TestManualByHand(t *testing.T) {
	image := func(tc *v1alpha1.TidbCluster) { tc.Spec.Version = "v8.5.9" }
	manual := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.StatefulSetUpdateStrategy = appsv1.OnDeleteStatefulSetStrategyType
	}
	have := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	live := have.Sets[topology.PD]
	live.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	write := func(edits ...func(*v1alpha1.TidbCluster)) desired.Drift {
		t.Helper()
		g := groupOf(t, want(t, load(t, "basic", edits...), have, state.Snapshot{}), topology.PD)
		live = merged(t, live, g.Set.Manifest.(*appsv1.StatefulSet))
		have.Sets[topology.PD] = live
		return g.Set.Drift
	}
	if d := groupOf(t, want(t, load(t, "basic"), have, state.Snapshot{}), topology.PD).Set.Drift; d != desired.None {
		t.Error("it is taken for a difference")
	}
	live = Resized(live, 5, nil)
	have.Sets[topology.PD] = live
	if d := write(image); d != desired.Differs || live.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		t.Errorf("after another image: %v", live.Spec.UpdateStrategy)
	}
	if d := groupOf(t, want(t, load(t, "basic", image), have, state.Snapshot{}), topology.PD).Set.Drift; d != desired.None {
		t.Error("then it is taken for a difference")
	}
	write(image, manual)
	if d := write(image); d != desired.Differs || live.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		t.Errorf("the spec is switched back: %v", live.Spec.UpdateStrategy)
	}
}

func TestServiceOfOthersStays(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	for _, s := range have.Services {
		s.Labels["cloud"] = "x"
		s.Annotations["cloud"] = "x"
		s.Spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	if found := drifts(want(t, c, have, state.Snapshot{})); len(found) > 0 {
		t.Errorf("to be written: %v", found)
	}
}

func tidbServiceOf(t *testing.T, w desired.State) desired.Object {
	t.Helper()
	for _, s := range groupOf(t, w, topology.TiDB).Services {
		if s.Name == "basic-tidb" {
			return s
		}
	}
	t.Fatal("no client Service of TiDB")
	return desired.Object{}
}

func TestMergeService(t *testing.T) {
	nodePort := func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TiDB.Service.Type = corev1.ServiceTypeLoadBalancer
		local := corev1.ServiceExternalTrafficPolicyLocal
		tc.Spec.TiDB.Service.ExternalTrafficPolicy = &local
	}
	have := created(t, want(t, load(t, "basic", nodePort), nothing(), state.Snapshot{}))
	live := have.Services["basic-tidb"]
	class := "example.com/lb"
	live.Annotations["cloud"] = "x"
	live.Spec.HealthCheckNodePort = 31000
	live.Spec.LoadBalancerClass = &class
	live.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	live.Spec.Ports[0].NodePort, live.Spec.Ports[1].NodePort = 30400, 30080

	// Values that the cluster has given are no difference.
	if found := drifts(want(t, load(t, "basic", nodePort), have, state.Snapshot{})); len(found) > 0 {
		t.Fatalf("to be written: %v", found)
	}

	hidden := func(tc *v1alpha1.TidbCluster) {
		nodePort(tc)
		tc.Spec.TiDB.Service.ExposeStatus = new(bool)
		other := "10.96.9.9"
		tc.Spec.TiDB.Service.ClusterIP = &other
		tc.Spec.TiDB.Service.Labels = map[string]string{"exposed": "yes"}
	}
	next := load(t, "basic", hidden)
	object := tidbServiceOf(t, want(t, next, have, state.Snapshot{}))
	if object.Drift != desired.Differs {
		t.Fatal("no difference")
	}
	got := merged(t, live, object.Manifest.(*corev1.Service))
	if len(got.Spec.Ports) != 1 || got.Spec.Ports[0].NodePort != 30400 {
		t.Errorf("ports %v", got.Spec.Ports)
	}
	if got.Spec.ClusterIP != "10.96.1.2" || len(got.Spec.ClusterIPs) != 1 || len(got.Spec.IPFamilies) != 1 {
		t.Errorf("addresses %s, %v, %v", got.Spec.ClusterIP, got.Spec.ClusterIPs, got.Spec.IPFamilies)
	}
	if got.Spec.HealthCheckNodePort != 31000 || got.Spec.LoadBalancerClass != &class && *got.Spec.LoadBalancerClass != class {
		t.Errorf("health check at %d, class %v", got.Spec.HealthCheckNodePort, got.Spec.LoadBalancerClass)
	}
	if got.Annotations["cloud"] != "x" || got.Labels["exposed"] != "yes" {
		t.Error("labels and annotations are not merged")
	}
	have.Services["basic-tidb"] = got
	if found := drifts(want(t, next, have, state.Snapshot{})); len(found) > 0 {
		t.Errorf("what has been merged differs again: %v", found)
	}
}

// A Service that reaches the cluster only must not keep node ports.
func TestMergeServiceGivesNodePortsBack(t *testing.T) {
	nodePort := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Service.Type = corev1.ServiceTypeNodePort }
	live := created(t, want(t, load(t, "basic", nodePort), nothing(), state.Snapshot{})).Services["basic-tidb"]
	live.Spec.Ports[0].NodePort = 30400
	object := tidbServiceOf(t, want(t, load(t, "basic"), nothing(), state.Snapshot{}))
	if got := merged(t, live, object.Manifest.(*corev1.Service)); got.Spec.Ports[0].NodePort != 0 {
		t.Errorf("node port %d", got.Spec.Ports[0].NodePort)
	}
}

func TestServiceWithoutRecord(t *testing.T) {
	c := load(t, "basic")
	have := created(t, want(t, c, nothing(), state.Snapshot{}))
	delete(have.Services["basic-pd"].Annotations, annLastApplied)
	if found := drifts(want(t, c, have, state.Snapshot{})); found["Service basic-pd"] != desired.Differs {
		t.Errorf("drifts: %v", found)
	}
}

// All data of a ConfigMap is ours: what is not wanted any more has to go.
func TestMergeConfigMap(t *testing.T) {
	live := &corev1.ConfigMap{Data: map[string]string{keyInitial: "x"}}
	live.Annotations = map[string]string{"theirs": "1"}
	wanted := &corev1.ConfigMap{Data: map[string]string{keyClusterID: "7"}}
	got := merged(t, live, wanted)
	if diff := cmp.Diff(map[string]string{keyClusterID: "7"}, got.Data); diff != "" {
		t.Error(diff)
	}
	if got.Annotations["theirs"] != "1" {
		t.Error("an annotation of others is gone")
	}
}

func TestResized(t *testing.T) {
	for name, tt := range map[string]struct{ from, partition, to, want int32 }{
		"out, closed":        {3, 3, 4, 4},
		"in, closed":         {3, 3, 2, 2},
		"in, closed further": {3, 5, 2, 2},
		"out, open":          {3, 1, 4, 1},
		"in, open":           {3, 1, 2, 1},
		"out, all open":      {3, 0, 4, 0},
	} {
		live := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{})).Sets[topology.TiKV]
		fingerprint := Template(live)
		replicas(live, tt.from, tt.partition)
		before := live.DeepCopy()
		got := Resized(live, int(tt.to), nil)
		if n, p := *got.Spec.Replicas, *partition(got); n != tt.to || p != tt.want {
			t.Errorf("%s: replicas %d, partition %d, want %d", name, n, p, tt.want)
		}
		applied := record(t, got)
		if *applied.Replicas != tt.to || *applied.UpdateStrategy.RollingUpdate.Partition != tt.want {
			t.Errorf("%s: recorded %d, %d", name, *applied.Replicas, *applied.UpdateStrategy.RollingUpdate.Partition)
		}
		if Template(got) != fingerprint {
			t.Errorf("%s: the recorded template changed", name)
		}
		if diff := cmp.Diff(before.Spec.Template, got.Spec.Template); diff != "" {
			t.Errorf("%s: the live template changed:\n%s", name, diff)
		}
		if diff := cmp.Diff(before, live); diff != "" {
			t.Errorf("%s: the argument changed:\n%s", name, diff)
		}
	}
}

func TestWithPartition(t *testing.T) {
	live := created(t, want(t, load(t, "basic"), nothing(), state.Snapshot{})).Sets[topology.TiKV]
	got := WithPartition(live, 2)
	if *partition(got) != 2 || *partition(live) != 3 {
		t.Errorf("partition %d, was %d", *partition(got), *partition(live))
	}
	if p := *record(t, got).UpdateStrategy.RollingUpdate.Partition; p != 2 {
		t.Errorf("recorded partition %d", p)
	}
	if Template(got) != Template(live) {
		t.Error("the recorded template changed")
	}
	live.Spec.UpdateStrategy.RollingUpdate = nil
	delete(live.Annotations, annLastApplied)
	got = WithPartition(live, 1)
	if *partition(got) != 1 || Template(got) != "" {
		t.Errorf("partition %d, template %q", *partition(got), Template(got))
	}
}

func TestServiceOfTheUser(t *testing.T) {
	given := func(tc *v1alpha1.TidbCluster) { tc.Spec.TiDB.Service.Type = corev1.ServiceTypeNodePort }
	chosen := func(tc *v1alpha1.TidbCluster) {
		given(tc)
		port := 30999
		tc.Spec.TiDB.Service.MySQLNodePort = &port
		tc.Spec.TiDB.Service.Annotations = map[string]string{"ours": "1"}
	}
	have := created(t, want(t, load(t, "basic", given), nothing(), state.Snapshot{}))
	live := have.Services["basic-tidb"]
	live.Spec.Ports[0].NodePort = 30400
	object := tidbServiceOf(t, want(t, load(t, "basic", chosen), have, state.Snapshot{}))
	if got := merged(t, live, object.Manifest.(*corev1.Service)); got.Spec.Ports[0].NodePort != 30999 {
		t.Errorf("the user's node port became %d", got.Spec.Ports[0].NodePort)
	}

	annotated := func(tc *v1alpha1.TidbCluster) {
		given(tc)
		tc.Spec.TiDB.Service.Annotations = map[string]string{"ours": "1"}
	}
	if o := tidbServiceOf(t, want(t, load(t, "basic", annotated), have, state.Snapshot{})); o.Drift != desired.Differs {
		t.Error("the user's annotation is no difference")
	}
}

// Very old operators kept their record in the pod template too. It is in no
// template that is rendered, and to drop it would restart every pod.
func TestMergeSetKeepsVeryOldRecord(t *testing.T) {
	w := want(t, load(t, "basic"), nothing(), state.Snapshot{})
	live := created(t, w).Sets[topology.TiKV]
	applied := record(t, live)
	applied.Template.Annotations[annLastApplied] = "{}"
	setLastApplied(&live.ObjectMeta, applied)
	live.Spec.Template.Annotations[annLastApplied] = "{}"
	if got := setDrift(live, setOf(t, w, topology.TiKV)); got != desired.None {
		t.Errorf("drift %d", got)
	}
	got := merged(t, live, setOf(t, w, topology.TiKV))
	if got.Spec.Template.Annotations[annLastApplied] != "{}" {
		t.Error("the record in the pod template is gone")
	}
}

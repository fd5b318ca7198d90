package observe

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// runningPod returns a pod of the cluster basic whose container has run since noon.
func runningPod(k topology.Kind, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: string(k), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}},
		}},
	}}
}

// TestSinceWhen: since when a member's pod is missing, and since when it does not serve,
// as this process has observed it.
func TestSinceWhen(t *testing.T) {
	now := noon
	o := through(fails(refused))
	o.now, o.history = func() time.Time { return now }, newHistory()
	c := basic
	c.Source = &v1alpha1.TidbCluster{}
	was := v1alpha1.TiDBMember{LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))}
	c.Source.Status.TiDB.Members = map[string]v1alpha1.TiDBMember{"basic-tidb-0": was}
	two := int32(2)
	seen := Objects{
		Sets: []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Name: "basic-tidb"}, Spec: appsv1.StatefulSetSpec{Replicas: &two}}},
		Pods: []*corev1.Pod{runningPod(topology.TiDB, "basic-tidb-0")},
	}.sort(c)
	want := topology.Group{Kind: topology.TiDB, Replicas: 3}
	o.groups(t.Context(), c, []topology.Group{want}, seen, database{})
	now = noon.Add(time.Minute)
	g := o.groups(t.Context(), c, []topology.Group{want}, seen, database{})[0]
	if len(g.Members) != 3 || !g.Set.Exists {
		t.Fatalf("got %+v", g)
	}
	zero, one, two2 := g.Members[0], g.Members[1], g.Members[2]
	if zero.Kind != topology.TiDB || zero.Name != "basic-tidb-0" || one.Ordinal != 1 || zero.Pod == nil || one.Pod != nil {
		t.Errorf("got %+v", g.Members)
	}
	if !zero.Gone.IsZero() || !one.Gone.Equal(noon) || !two2.Gone.IsZero() {
		t.Errorf("gone since %s, %s, %s", zero.Gone, one.Gone, two2.Gone)
	}
	if got := zero.Database.Since; !got.Equal(noon.Add(-time.Hour)) {
		t.Errorf("unhealthy since %s", got)
	}
	if !zero.NotServing.Equal(noon) || !zero.ReportedDown.Equal(noon) || !zero.Refusing.Equal(noon) || !one.Refusing.IsZero() {
		t.Errorf("not serving since %s, reported since %s, refusing since %s", zero.NotServing, zero.ReportedDown, zero.Refusing)
	}
	if !zero.Silent.IsZero() {
		t.Errorf("a port that refuses connections is silent since %s", zero.Silent)
	}
}

// TestComponentsAreAskedTogether: members on a host that is lost answer nothing. They cost the time for one answer, and not
// that time for each component.
func TestComponentsAreAskedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := basic
		c.Source = &v1alpha1.TidbCluster{}
		o := through(func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
		o.history = newHistory()
		l := Objects{}
		d := database{listed: map[topology.Kind]map[int]listed{}}
		var wanted []topology.Group
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			wanted = append(wanted, topology.Group{Kind: k, Replicas: 1})
			l.Pods = append(l.Pods, runningPod(k, c.PodName(k, 0)))
			d.listed[k] = map[int]listed{0: {Database: state.Database{Presence: state.Present, State: state.StoreDown}}}
		}
		begun := time.Now()
		all := o.groups(t.Context(), c, wanted, l.sort(c), d)
		if took := time.Since(begun); took != readTimeout {
			t.Errorf("took %s, want %s", took, readTimeout)
		}
		for i, g := range all {
			if len(g.Members) != 1 || g.Members[0].Kind != wanted[i].Kind || g.Members[0].Up() {
				t.Errorf("%s: got %+v", wanted[i].Kind, g.Members)
			}
		}
	})
}

// TestMembersAreAsked: each component's members are asked in its own way.
func TestMembersAreAsked(t *testing.T) {
	c := basic
	c.Source = &v1alpha1.TidbCluster{}
	silent := database{listed: map[topology.Kind]map[int]listed{
		topology.PD: {0: {Database: state.Database{Presence: state.Present}}},
		topology.TiKV: {
			0: {Database: state.Database{Presence: state.Present, State: state.StoreDown}, labels: map[string]string{"zone": "a"}},
			3: {Database: state.Database{State: state.StoreUp}},
		},
	}}
	for k, size := range map[topology.Kind]int{topology.PD: 1, topology.TiKV: 4, topology.TiDB: 1} {
		o := through(fails(refused))
		o.history = newHistory()
		name := c.PodName(k, 0)
		seen := Objects{Pods: []*corev1.Pod{runningPod(k, name)}}.sort(c)
		seen.claims[k][0] = []state.Claim{{Name: "data"}}
		g := o.groups(t.Context(), c, []topology.Group{{Kind: k}}, seen, silent)[0]
		if len(g.Members) != size || g.Members[0].Database.Answer != state.Refused || g.Members[0].Claims[0].Name != "data" {
			t.Errorf("%s: %+v", k, g.Members)
		}
		if got := g.Members[0].StoreLabels; (got != nil) != (k == topology.TiKV) {
			t.Errorf("%s: labels %v", k, got)
		}
		if k == topology.TiKV && g.Members[1].StoreLabels != nil {
			t.Errorf("labels %v of a store that PD does not know", g.Members[1].StoreLabels)
		}
	}
}

// TestNodeOfAMember: what Kubernetes says of a node is part of the members there whose pods have ended.
func TestNodeOfAMember(t *testing.T) {
	c := basic
	c.Source = &v1alpha1.TidbCluster{}
	o := through(fails(refused))
	o.history, o.nodes = newHistory(), newNodes()
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	o.kube = fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "up"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}})
	pod := runningPod(topology.TiDB, c.PodName(topology.TiDB, 0))
	pod.Spec.NodeName, pod.Status.Phase = "up", corev1.PodFailed
	g := o.groups(t.Context(), c, []topology.Group{{Kind: topology.TiDB}}, Objects{Pods: []*corev1.Pod{pod}}.sort(c), database{})[0]
	if got := g.Members[0].Pod.NodeState; got != state.NodeReady {
		t.Errorf("node state %d, want Ready", got)
	}
}

// TestRecall: since when a member is unhealthy is read from the status if it is known from nothing
// else, and only for one that was unhealthy then.
func TestRecall(t *testing.T) {
	at := metav1.NewTime(noon)
	status := v1alpha1.TidbClusterStatus{
		PD: v1alpha1.PDStatus{Members: map[string]v1alpha1.PDMember{
			"pd-0": {LastTransitionTime: at}, "pd-1": {Health: true, LastTransitionTime: at},
		}},
		TiDB: v1alpha1.TiDBStatus{Members: map[string]v1alpha1.TiDBMember{
			"basic-tidb-0": {LastTransitionTime: at}, "basic-tidb-1": {Health: true, LastTransitionTime: at},
		}},
		TiProxy: v1alpha1.TiProxyStatus{Members: map[string]v1alpha1.TiProxyMember{
			"basic-tiproxy-0": {LastTransitionTime: at}, "basic-tiproxy-1": {Health: true, LastTransitionTime: at},
		}},
	}
	present := state.Database{Presence: state.Present}
	member := func(k topology.Kind, name string, change func(*state.Database)) state.Member {
		m := state.Member{Kind: k, Name: name, Database: present}
		m.Database.Name = name
		change(&m.Database)
		return m
	}
	as := func(*state.Database) {}
	later := noon.Add(time.Hour)
	for name, tt := range map[string]struct {
		m    state.Member
		want time.Time
	}{
		"a member of PD":                     {member(topology.PD, "pd-0", as), noon},
		"a member of PD that was healthy":    {member(topology.PD, "pd-1", as), time.Time{}},
		"a member of PD that is new":         {member(topology.PD, "pd-2", as), time.Time{}},
		"a server":                           {member(topology.TiDB, "basic-tidb-0", as), noon},
		"a server that was healthy":          {member(topology.TiDB, "basic-tidb-1", as), time.Time{}},
		"a server that is new":               {member(topology.TiDB, "basic-tidb-2", as), time.Time{}},
		"a TiProxy":                          {member(topology.TiProxy, "basic-tiproxy-0", as), noon},
		"a TiProxy that was healthy":         {member(topology.TiProxy, "basic-tiproxy-1", as), time.Time{}},
		"a TiProxy that is new":              {member(topology.TiProxy, "basic-tiproxy-2", as), time.Time{}},
		"a store":                            {member(topology.TiKV, "basic-tidb-0", as), time.Time{}},
		"a server that is healthy":           {member(topology.TiDB, "basic-tidb-0", func(d *state.Database) { d.Healthy = true }), time.Time{}},
		"a server of which nothing is known": {member(topology.TiDB, "basic-tidb-0", func(d *state.Database) { d.Presence = state.Unknown }), time.Time{}},
		"a server of which more is known":    {member(topology.TiDB, "basic-tidb-0", func(d *state.Database) { d.Since = later }), later},
	} {
		// The first member has nothing in the status.
		members := []state.Member{member(topology.TiDB, "x", func(d *state.Database) { d.Healthy = true }), tt.m}
		readerOf(tt.m.Kind).fillInSince(status, members)
		if got := members[1].Database.Since; !got.Equal(tt.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// copied is a Source that records that it was asked.
type copied struct{ asked *[]string }

func (c copied) Intent(context.Context) (*v1alpha1.TidbCluster, error) {
	*c.asked = append(*c.asked, "copy")
	return nil, errors.New("the copy is empty")
}

func (c copied) Objects(context.Context, topology.Cluster) (Objects, error) { return Objects{}, nil }

// TestWhereItIsReadFrom: objects are read from the mirror, if there is one and the observation need
// not be live.
func TestWhereItIsReadFrom(t *testing.T) {
	for _, c := range []struct {
		mirror, live bool
		want         []string
	}{{true, false, []string{"copy"}}, {true, true, []string{"live"}}, {false, false, []string{"live"}}} {
		var asked []string
		o := New(fake.NewClientset(), &dial.Direct{}, func(context.Context) (*v1alpha1.TidbCluster, error) {
			asked = append(asked, "live")
			return nil, errors.New("there is none")
		}, time.Now)
		if c.mirror {
			o.Mirror(copied{&asked})
		}
		if _, err := o.Observe(t.Context(), c.live); err == nil || !reflect.DeepEqual(asked, c.want) {
			t.Errorf("%+v: asked %q, %v", c, asked, err)
		}
	}
}

// small returns the TidbCluster of the cluster basic.
func small() *v1alpha1.TidbCluster {
	disk := corev1.ResourceRequirements{Requests: amount("10Gi")}
	return &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.5.0", PD: &v1alpha1.PDSpec{Replicas: 1, ResourceRequirements: disk},
			TiKV: &v1alpha1.TiKVSpec{Replicas: 1, ResourceRequirements: disk}, TiDB: &v1alpha1.TiDBSpec{Replicas: 1},
		},
	}
}

// TestSnapshot: what one observation reads of the whole cluster.
func TestSnapshot(t *testing.T) {
	tc := small()
	tc.Status.ClusterID = "77"
	c := topology.New(tc)
	drain, err := ledger.EncodeDrain(state.Drain{Member: "basic-ticdc-1", PodUID: "u", Since: noon})
	if err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: c.LedgerMap(), Namespace: "db"},
		Data: map[string]string{
			"remove-store.4": `{"member":"basic-tikv-3","since":"2026-07-01T12:00:00Z"}`, "evict-leader.x": "{}",
			"evict-leader.5": `{"member":"basic-tikv-1","since":"2026-07-01T12:00:00Z"}`, "placement-rules-enabled": noon.Format(time.RFC3339),
			ledger.DrainKey("basic-ticdc-1"): drain,
		},
	})
	o := New(kube, &dial.Direct{}, func(context.Context) (*v1alpha1.TidbCluster, error) { return tc, nil }, func() time.Time { return noon })
	seen, err := o.Observe(t.Context(), true)
	if err != nil || len(seen.Cluster.Groups) != 3 || seen.Existing.ConfigMaps == nil {
		t.Fatalf("%v, %+v", err, seen)
	}
	s := seen.Snapshot
	if !s.At.Equal(noon) || len(s.Groups) != 3 || len(s.Removals) != 1 || len(s.Evictions) != 1 || len(s.Drains) != 1 || s.Drains[0].Member != "basic-ticdc-1" || !s.RulesEnabled.Equal(noon) || len(s.Gaps) != 1 || s.PD.Known() || s.PD.ClusterID != 77 {
		t.Errorf("got %+v", s)
	}
	if o.PD() != nil {
		t.Errorf("got %v", o.PD())
	}
	if seen, err := o.Against(t.Context(), c); err != nil || len(seen.Cluster.Groups) != 3 {
		t.Errorf("%v, %+v", err, seen)
	}
	o.Close()
}

// TestKubernetesIsSilent: if Kubernetes cannot be read, the observation fails.
func TestKubernetesIsSilent(t *testing.T) {
	for _, r := range []string{"services", "configmaps", "statefulsets", "pods", "persistentvolumeclaims", "deployments"} {
		kube := fake.NewClientset()
		kube.PrependReactor("*", r, func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("timeout") })
		o := New(kube, &dial.Direct{}, func(context.Context) (*v1alpha1.TidbCluster, error) { return small(), nil }, time.Now)
		if _, err := o.Observe(t.Context(), true); err == nil {
			t.Errorf("%s cannot be read, and there is no error", r)
		}
	}
}

// TestNamedConfigMapIsSilent: a ConfigMap that pods mount is read by name. If that fails, the
// ConfigMap does not count as missing.
func TestNamedConfigMapIsSilent(t *testing.T) {
	kube := fake.NewClientset(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "basic-pd", Namespace: "db", Labels: basic.Labels(topology.PD)},
		Spec:       appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: uses("basic-pd-hand")}},
	})
	kube.PrependReactor("get", "configmaps", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.(clienttesting.GetAction).GetName() == "basic-pd-hand", nil, errors.New("timeout")
	})
	o := New(kube, &dial.Direct{}, func(context.Context) (*v1alpha1.TidbCluster, error) { return small(), nil }, time.Now)
	if _, err := o.Observe(t.Context(), true); err == nil || !strings.Contains(err.Error(), "configmap db/basic-pd-hand") {
		t.Errorf("got %v", err)
	}
}

// closed is a client of PD that records whether it was closed.
type closed struct {
	*pd.Fake
	times *int
}

func (c closed) Close() { *c.times++ }

// TestClient: a client is kept as long as the members are the same, and closed when they change.
func TestClient(t *testing.T) {
	times := 0
	first := closed{pd.NewFake(1, 1), &times}
	o := New(fake.NewClientset(), &dial.Direct{}, nil, time.Now)
	o.pd, o.urls = first, []string{"http://a:2379"}
	if got := o.client([]string{"http://a:2379"}); got != pd.Client(first) || times != 0 || o.PD() != got {
		t.Errorf("another one: %v, closed %d times", got, times)
	}
	second := o.client([]string{"http://a:2379", "http://b:2379"})
	if second == pd.Client(first) || times != 1 || o.PD() != second {
		t.Errorf("the same for other members; closed %d times", times)
	}
	if got := o.client([]string{"http://a:2379", "http://b:2379"}); got != second {
		t.Error("another one for the same members")
	}
	o.pd = first
	if o.Close(); times != 2 {
		t.Errorf("closed %d times", times)
	}
}

// TestForgetOthers: steps that write no volume do not drop what is remembered of volumes.
func TestForgetOthers(t *testing.T) {
	zero := boundClaim(0)
	o := tend(volumeOf(zero))
	o.volumes(t, zero)
	o.reads()
	o.Forget(step.Restart{})
	if o.volumes(t, zero); o.reads() != 0 {
		t.Error("read again")
	}
	o.ReadForUpkeep(time.Nanosecond) // upkeep is read already
	o.time = o.time.Add(time.Minute)
	if o.volumes(t, zero); o.reads() != 0 {
		t.Error("what was remembered is dropped")
	}
	o.extras = nil
	o.Forget(step.TendVolume{Name: zero.Spec.VolumeName})
}

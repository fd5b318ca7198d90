package observe

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestOtherController: a pod of an AdvancedStatefulSet, which has the kind StatefulSet too, has another controller in a
// cluster of StatefulSets, and the other way round.
func TestOtherController(t *testing.T) {
	yes := true
	const native, advanced = "StatefulSet basic-tikv of apps/v1", "StatefulSet basic-tikv of apps.pingcap.com/v1"
	for _, tt := range []struct {
		owners       []metav1.OwnerReference
		native, with string // in a cluster of StatefulSets, and of AdvancedStatefulSets
	}{
		{},
		{[]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "basic-tikv", Controller: &yes}}, "", native},
		{[]metav1.OwnerReference{{APIVersion: "apps.pingcap.com/v1", Kind: "StatefulSet", Name: "basic-tikv", Controller: &yes}}, advanced, ""},
		{[]metav1.OwnerReference{{APIVersion: "v1", Kind: "Other"}, {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "x", Controller: &yes}}, "ReplicaSet x of apps/v1", "ReplicaSet x of apps/v1"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: tt.owners}}
		if got := otherController(pod, false); got != tt.native {
			t.Errorf("got %q, want %q", got, tt.native)
		}
		if got := otherController(pod, true); got != tt.with {
			t.Errorf("in a cluster of AdvancedStatefulSets: got %q, want %q", got, tt.with)
		}
	}
}

// uses returns the specification of pods that mount a ConfigMap.
func uses(name string) corev1.PodSpec {
	return corev1.PodSpec{Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}}}
}

// TestConfigMapsUnchanged: while nothing is known to have changed, a ConfigMap that was read by its name is not read
// again. One that was missing is: it is awaited.
func TestConfigMapsUnchanged(t *testing.T) {
	cluster := basic
	cluster.Groups, cluster.Source = []topology.Group{{Kind: topology.PD}}, &v1alpha1.TidbCluster{}
	kube := fake.NewClientset()
	o := &Observer{kube: kube, changes: &Unchanged{}}
	reads := func() int {
		t.Helper()
		kube.ClearActions()
		seen := Objects{Sets: []*appsv1.StatefulSet{{
			ObjectMeta: metav1.ObjectMeta{Name: "basic-pd", Namespace: "db"}, Spec: appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: uses("basic-pd-hand")}},
		}}}.sort(cluster)
		if err := o.readConfigs(t.Context(), cluster, seen.existing); err != nil {
			t.Fatal(err)
		}
		return len(kube.Actions())
	}
	if first, second := reads(), reads(); first != 1 || second != 1 {
		t.Errorf("one that is missing is read %d and %d times", first, second)
	}
	hand := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "basic-pd-hand", Namespace: "db"}}
	if _, err := kube.CoreV1().ConfigMaps("db").Create(t.Context(), hand, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if first, second := reads(), reads(); first != 1 || second != 0 {
		t.Errorf("one that is there is read %d and %d times", first, second)
	}
}

// TestConfigMapsByName: ConfigMaps that pods mount are read by name if they do not have the
// cluster's labels, and only then.
func TestConfigMapsByName(t *testing.T) {
	cluster := basic
	cluster.Groups = []topology.Group{{Kind: topology.PD}, {Kind: topology.TiKV}, {Kind: topology.TiDB}}
	cluster.Source = &v1alpha1.TidbCluster{}
	set := func(k topology.Kind, configMap string) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "basic-" + string(k), Namespace: "db"},
			Spec:       appsv1.StatefulSetSpec{Template: corev1.PodTemplateSpec{Spec: uses(configMap)}},
		}
	}
	named := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "db"}}
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "basic-tidb-1", Namespace: "db"}, Spec: uses("basic-tidb-31")}
	higher := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "basic-tidb-2", Namespace: "db"}, Spec: uses("basic-tidb-62")}

	kube := fake.NewClientset(named("basic-tikv-hand"), named("basic-tidb-31"), named("basic-tidb-62"))
	o := &Observer{kube: kube}
	seen := Objects{
		Sets: []*appsv1.StatefulSet{set(topology.PD, "basic-pd"), set(topology.TiKV, "basic-tikv-hand")},
		Pods: []*corev1.Pod{higher, pod}, ConfigMaps: []*corev1.ConfigMap{named("basic-pd")},
	}.sort(cluster)
	if err := o.readConfigs(t.Context(), cluster, seen.existing); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"basic-pd": true, "basic-tikv-hand": true, "basic-tidb-31": true, "basic-tidb-62": false} {
		if got := seen.existing.ConfigMaps[name] != nil; got != want {
			t.Errorf("%s is known: %t", name, got)
		}
	}
	if n := len(kube.Actions()); n != 2 {
		t.Errorf("%d reads, want those of the two that have no labels", n)
	}
}

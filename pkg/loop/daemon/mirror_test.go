package daemon

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// TestMirror: the copy has all objects of a cluster, and no others: it asks for those with the
// labels of our objects only, in its namespace only.
func TestMirror(t *testing.T) {
	s := setup(t, nil)
	tc, all := belongings(t, "basic")
	labels := topology.New(tc).Selector()
	meta := metav1.ObjectMeta{Namespace: "db", Name: "basic-discovery", Labels: labels}
	all = append(all, &appsv1.Deployment{ObjectMeta: meta},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "web", Labels: map[string]string{topology.LabelInstance: "basic"}}},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "basic-pd", Labels: labels}})
	for _, o := range all {
		if err := s.kube.Tracker().Add(o.(runtime.Object)); err != nil {
			t.Fatal(err)
		}
	}
	m, err := newMirror(s.kube, intent.New(s.dyn), Scope{Namespace: "db"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := m.sourceOf(basic).Objects(t.Context(), topology.New(tc))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Services) + len(got.ConfigMaps) + len(got.Sets) + len(got.Pods) + len(got.Claims); n != len(all)-3 || !got.Discovery {
		t.Errorf("it has %d of %d objects, discovery %v", n, len(all)-3, got.Discovery)
	}
	sets := m.sets.GetStore().ListKeys()
	if slices.Contains(sets, "db/web") || slices.Contains(sets, "elsewhere/basic-pd") {
		t.Errorf("it has StatefulSets of others: %v", sets)
	}
	for _, a := range s.kube.Actions() {
		if w, ok := a.(clienttesting.WatchAction); ok && w.GetWatchRestrictions().Labels.Empty() {
			t.Errorf("it watches all %s", a.GetResource().Resource)
		}
	}
}

package act

import (
	"errors"
	"net/http/httptest"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// withAdvanced gives a fixture the AdvancedStatefulSet of TiKV, of three replicas with a slot.
func withAdvanced(t *testing.T, w *fixture) (sets.Client, step.Basis) {
	t.Helper()
	api := memoryapi.New()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	client := sets.Of(kube, "db", true)
	made := set(topology.TiKV, 3, 4)
	made.UID, made.ResourceVersion, made.Annotations = "", "", map[string]string{topology.AnnotationSlots: "[1]"}
	live, err := client.Create(t.Context(), made, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.OnSets(func() sets.Client { return client })
	return client, step.Basis{UID: string(live.UID), Generation: live.Generation}
}

// TestResizeWithSlots: replicas and slots are written together, once, and only where both are as they were decided on.
func TestResizeWithSlots(t *testing.T) {
	w := newFixture(t)
	client, basis := withAdvanced(t, w)
	live := func() *appsv1.StatefulSet {
		t.Helper()
		got, err := client.Get(t.Context(), "basic-tikv", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	other := step.Resize{Component: topology.TiKV, Basis: basis, From: 3, To: 2, SlotsFrom: []int{2}, SlotsTo: []int{1, 2}}
	var stale *Stale
	if err := w.Do(t.Context(), other); !errors.As(err, &stale) {
		t.Errorf("with other slots than before: %v", err)
	}
	s := step.Resize{Component: topology.TiKV, Basis: basis, From: 3, To: 2, SlotsFrom: []int{1}, SlotsTo: []int{1, 2}}
	w.do(t, s)
	got := live()
	if *got.Spec.Replicas != 2 || got.Annotations[topology.AnnotationSlots] != "[1,2]" || render.Partition(got) != 4 || got.Generation != basis.Generation+1 {
		t.Errorf("%d replicas, slots %q, partition %d, generation %d", *got.Spec.Replicas, got.Annotations[topology.AnnotationSlots], render.Partition(got), got.Generation)
	}
	w.do(t, s) // the answer got lost
	if again := live(); again.ResourceVersion != got.ResourceVersion {
		t.Error("written twice")
	}
	s.Basis.Generation, s.From, s.To, s.SlotsFrom, s.SlotsTo = got.Generation, 2, 3, []int{1, 2}, []int{1}
	w.do(t, s)
	if got := live(); *got.Spec.Replicas != 3 || got.Annotations[topology.AnnotationSlots] != "[1]" {
		t.Errorf("%d replicas, slots %q", *got.Spec.Replicas, got.Annotations[topology.AnnotationSlots])
	}
}

// TestSlotsOfPlainSet: a StatefulSet of Kubernetes gets no slots, because it would remove another pod.
func TestSlotsOfPlainSet(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 3, 3))
	w.isStale(t, step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 3, To: 2, SlotsTo: []int{1}})
}

// TestCreateWithSlots: an AdvancedStatefulSet is created with its slots.
func TestCreateWithSlots(t *testing.T) {
	w := newFixture(t)
	client, _ := withAdvanced(t, w)
	made := set(topology.PD, 3, 3)
	made.APIVersion, made.UID, made.ResourceVersion = "apps.pingcap.com/v1", "", ""
	w.do(t, step.Apply{Component: topology.PD, Replicas: 2, Slots: []int{0}, Object: desired.Object{Kind: "StatefulSet", Name: made.Name, Drift: desired.Missing, Manifest: made}})
	got, err := client.Get(t.Context(), "basic-pd", metav1.GetOptions{})
	if err != nil || *got.Spec.Replicas != 2 || got.Annotations[topology.AnnotationSlots] != "[0]" {
		t.Errorf("%v, %+v", err, got)
	}
}

package act

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/sets"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// servingAdvanced gives a fixture an API server for AdvancedStatefulSets.
func servingAdvanced(t *testing.T, w *fixture) (*memoryapi.Server, sets.Client) {
	t.Helper()
	api := memoryapi.New()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	client := sets.Of(kube, "db", true)
	w.OnSets(func() sets.Client { return client })
	return api, client
}

// withAdvanced gives a fixture the AdvancedStatefulSet of TiKV, of three replicas with a slot.
func withAdvanced(t *testing.T, w *fixture) (sets.Client, step.Basis) {
	t.Helper()
	_, client := servingAdvanced(t, w)
	made := set(topology.TiKV, 3, 4)
	made.UID, made.ResourceVersion, made.Annotations = "", "", map[string]string{topology.AnnotationSlots: "[1]"}
	live, err := client.Create(t.Context(), made, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
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

// orphans is a client of StatefulSets whose pods lose their controller at once.
type orphans struct {
	sets.Client
	api *memoryapi.Server
}

func (c orphans) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	c.api.Remove(sets.Resource.GroupResource(), "db", name)
	return nil
}

// killed is such a client in a run that is killed before the next StatefulSet is made.
type killed struct{ orphans }

func (c killed) Create(ctx context.Context, set *appsv1.StatefulSet, opts metav1.CreateOptions) (*appsv1.StatefulSet, error) {
	if len(opts.DryRun) > 0 {
		return c.orphans.Create(ctx, set, opts)
	}
	return nil, errors.New("killed")
}

// TestRecreateAdvanced: while an AdvancedStatefulSet is made again, the ledger says which kind the cluster has. The pods
// have no controller meanwhile, and a run that is killed leaves nothing else that shows the kind.
func TestRecreateAdvanced(t *testing.T) {
	w := newFixture(t)
	api, client := servingAdvanced(t, w)
	live, wanted := sizedSet("10Gi", "10Gi")
	live.APIVersion, wanted.APIVersion = "apps.pingcap.com/v1", "apps.pingcap.com/v1"
	wanted.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new("fast")
	live.Generation, live.Status.ObservedGeneration = 1, 1
	api.Put(sets.Resource.GroupResource(), live.DeepCopy())
	s := recreated(wanted)
	s.Basis.Generation = 1
	recorded := func() bool {
		book, err := w.kube.CoreV1().ConfigMaps("db").Get(t.Context(), "basic-ledger", metav1.GetOptions{})
		return err == nil && ledger.Advanced(book)
	}

	w.OnSets(func() sets.Client { return killed{orphans{client, api}} })
	if err := w.Do(t.Context(), s); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("got %v", err)
	}
	if _, err := client.Get(t.Context(), "basic-tikv", metav1.GetOptions{}); !apierrors.IsNotFound(err) || !recorded() {
		t.Errorf("%v, recorded %t", err, recorded())
	}

	w.OnSets(func() sets.Client { return orphans{client, api} })
	missing := s.Object
	missing.Drift = desired.Missing
	t.Run("the next run creates it", func(t *testing.T) {
		w.do(t, step.Apply{Component: s.Component, Replicas: s.Replicas, Object: missing})
		if recorded() {
			t.Error("the record stays")
		}
	})
	t.Run("not killed", func(t *testing.T) {
		api.Put(sets.Resource.GroupResource(), live)
		w.do(t, s)
		if recorded() {
			t.Error("the record stays")
		}
	})
}

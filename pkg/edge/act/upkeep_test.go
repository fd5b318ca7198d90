package act

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// mergePatches returns the bodies of the patches so far.
func mergePatches(t *testing.T, w *fixture) []map[string]any {
	t.Helper()
	var all []map[string]any
	for _, a := range w.kube.Actions() {
		if p, ok := a.(clienttesting.PatchAction); ok {
			var body map[string]any
			if err := json.Unmarshal(p.GetPatch(), &body); err != nil || p.GetPatchType() != types.MergePatchType {
				t.Fatalf("%s, %v", p.GetPatchType(), err)
			}
			all = append(all, body)
		}
	}
	return all
}

// immutable answers a patch for another UID as an API server does.
func immutable(w *fixture) {
	w.kube.PrependReactor("patch", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		p := a.(clienttesting.PatchAction)
		var body struct{ Metadata metav1.ObjectMeta }
		_ = json.Unmarshal(p.GetPatch(), &body)
		live, err := w.kube.Tracker().Get(p.GetResource(), p.GetNamespace(), p.GetName())
		if err != nil || live.(metav1.Object).GetUID() == body.Metadata.UID {
			return false, nil, nil
		}
		return true, nil, apierrors.NewInvalid(schema.GroupKind{Kind: p.GetResource().Resource}, p.GetName(),
			field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), string(body.Metadata.UID), "field is immutable")})
	})
}

func TestLabel(t *testing.T) {
	set := state.Identity{
		Labels:      map[string]string{topology.LabelStoreID: "4"},
		Annotations: map[string]string{topology.LabelPodName: "basic-tikv-3"},
	}
	onClaim := step.Label{
		Component: topology.TiKV, Member: "basic-tikv-3", Object: step.ClaimObject,
		Name: claimName, UID: "uid-of-" + claimName, Set: set,
	}
	onPod := step.Label{
		Component: topology.TiKV, Member: "basic-tikv-3", Object: step.PodObject,
		Name: "basic-tikv-3", UID: "uid-of-basic-tikv-3", Set: state.Identity{Labels: set.Labels},
	}
	t.Run("tikv-11-19 tidb-B23 one request with single keys, what others wrote stays", func(t *testing.T) {
		w := newFixture(t, claim(topology.TiKV, 3, true), pod(topology.TiKV, 3))
		w.do(t, onClaim)
		w.do(t, onPod)
		got := liveClaim(t, w)
		if got.Labels[topology.LabelStoreID] != "4" || got.Labels[topology.LabelComponent] != "tikv" ||
			got.Annotations[topology.LabelPodName] != "basic-tikv-3" || got.Annotations["mine"] != "stays" || !marked(got) {
			t.Errorf("%v, %v", got.Labels, got.Annotations)
		}
		want := []map[string]any{
			{"metadata": map[string]any{
				"uid": onClaim.UID, "labels": map[string]any{topology.LabelStoreID: "4"},
				"annotations": map[string]any{topology.LabelPodName: "basic-tikv-3"},
			}},
			{"metadata": map[string]any{"uid": onPod.UID, "labels": map[string]any{topology.LabelStoreID: "4"}}},
		}
		if got := mergePatches(t, w); !reflect.DeepEqual(got, want) || len(w.kube.Actions()) != 3 { // and our own read
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("another object with the name", func(t *testing.T) {
		other := pod(topology.TiKV, 3)
		other.UID = "another"
		w := newFixture(t, other)
		immutable(w)
		err := w.Do(t.Context(), onPod)
		if s := (&Stale{}); !errors.As(err, &s) || !s.Stale() {
			t.Errorf("got %v", err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		err := newFixture(t).Do(t.Context(), onPod)
		if s := (&Stale{}); !errors.As(err, &s) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		w := newFixture(t, pod(topology.TiKV, 3))
		w.kube.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "basic-tikv-3", nil)
		})
		if err := w.Do(t.Context(), onPod); !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
	})
}

func volume(policy corev1.PersistentVolumeReclaimPolicy) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-3", UID: "uid-of-pv-3", ResourceVersion: "5", Labels: map[string]string{"mine": "stays"}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: policy,
			ClaimRef:                      &corev1.ObjectReference{Namespace: "db", Name: claimName, UID: types.UID("uid-of-" + claimName)},
		},
	}
}

func TestTendVolume(t *testing.T) {
	next := step.TendVolume{
		Component: topology.TiKV, Member: "basic-tikv-3", Name: "pv-3", UID: "uid-of-pv-3", Version: "5",
		Policy: "Retain", Set: state.Identity{Labels: map[string]string{topology.LabelStoreID: "4"}},
	}
	w := newFixture(t, volume("Delete"))
	w.do(t, next)
	got, err := w.kube.CoreV1().PersistentVolumes().Get(t.Context(), "pv-3", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec.PersistentVolumeReclaimPolicy != "Retain" || got.Spec.ClaimRef == nil ||
		got.Labels["mine"] != "stays" || got.Labels[topology.LabelStoreID] != "4" {
		t.Errorf("%+v, %v", got.Spec, got.Labels)
	}
	t.Run("it has changed since", func(t *testing.T) {
		changed := volume("Delete")
		changed.ResourceVersion = "6"
		w := newFixture(t, changed)
		err := w.Do(t.Context(), next)
		if s := (&Stale{}); !errors.As(err, &s) {
			t.Errorf("got %v", err)
		}
	})
}

func orphan() *corev1.Pod {
	p := pod(topology.TiKV, 3)
	p.ResourceVersion = "1"
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName},
	}}}
	return p
}

func TestRemakePod(t *testing.T) {
	next := step.RemakePod{
		Component: topology.TiKV, Member: "basic-tikv-3", PodUID: "uid-of-basic-tikv-3", Claims: []string{claimName},
	}
	w := newFixture(t, orphan())
	w.do(t, next)
	if got := w.writes(); !slices.Equal(got, []string{"delete pods"}) {
		t.Errorf("got %q", got)
	}
	d := w.kube.Actions()[len(w.kube.Actions())-1].(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
	if d == nil || d.UID == nil || *d.UID != "uid-of-basic-tikv-3" || d.ResourceVersion == nil || *d.ResourceVersion != "1" {
		t.Errorf("preconditions %v", d)
	}

	placed, replaced := orphan(), orphan()
	placed.Spec.NodeName = "node-1"
	replaced.UID = "another"
	t.Run("it has a place now", func(t *testing.T) { newFixture(t, placed).isStale(t, next) })
	t.Run("the claim is there now", func(t *testing.T) { newFixture(t, orphan(), claim(topology.TiKV, 3, false)).isStale(t, next) })
	t.Run("another claim is none of its own", func(t *testing.T) {
		next := next
		next.Claims = []string{"of-another", claimName}
		w := newFixture(t, orphan())
		w.do(t, next)
		if got := w.writes(); !slices.Equal(got, []string{"delete pods"}) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("it has been replaced", func(t *testing.T) {
		w := newFixture(t, replaced)
		w.do(t, next)
		w.unchanged(t)
	})
	t.Run("the claim cannot be read", func(t *testing.T) {
		w := newFixture(t, orphan())
		w.kube.PrependReactor("get", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("timeout")
		})
		if err := w.Do(t.Context(), next); err == nil {
			t.Error("an unknown claim counts as missing")
		}
		w.unchanged(t)
	})
	t.Run("it finds a place at the last moment", func(t *testing.T) {
		w := newFixture(t, orphan())
		w.kube.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
			pre := a.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
			if pre.ResourceVersion != nil && *pre.ResourceVersion == "1" {
				return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "basic-tikv-3", nil)
			}
			return false, nil, nil
		})
		err := w.Do(t.Context(), next)
		if s := (&Stale{}); !errors.As(err, &s) {
			t.Errorf("got %v", err)
		}
	})
}

func TestLabelStore(t *testing.T) {
	next := step.LabelStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 4, Labels: map[string]string{"zone": "b", "host": "h"}}
	w := newFixture(t)
	w.pd.Update(func(s *pd.FakeState) { s.Stores[3].Labels = map[string]string{"host": "h", "disk": "ssd"} })
	w.do(t, next)
	if got := w.pd.Writes(); !slices.Equal(got, []string{"SetStoreLabels(4, map[zone:b])"}) {
		t.Errorf("got %q", got)
	}
	w.do(t, next)
	if got := w.pd.Writes(); len(got) != 1 {
		t.Errorf("wrote labels that the store has already: %q", got)
	}
	t.Run("another member's store", func(t *testing.T) {
		w := newFixture(t)
		w.isStale(t, step.LabelStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 2, Labels: map[string]string{"zone": "b"}})
	})
}

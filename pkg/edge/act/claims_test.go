package act

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

const claimName = "tikv-basic-tikv-3"

func liveClaim(t *testing.T, w *fixture) *corev1.PersistentVolumeClaim {
	t.Helper()
	c, err := w.kube.CoreV1().PersistentVolumeClaims("db").Get(t.Context(), claimName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMarkAndUnmarkClaims(t *testing.T) {
	w := newFixture(t, claim(topology.TiKV, 3, false))
	names := []step.Claim{{Name: "never-there", UID: "none"}, {Name: claimName, UID: "uid-of-" + claimName}}
	w.do(t, step.MarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: names})
	got := liveClaim(t, w).Annotations
	if got[topology.AnnotationDeferDeleting] != "2026-07-01T12:00:00Z" || got["mine"] != "stays" {
		t.Errorf("annotations %v", got)
	}
	w.kube.ClearActions()
	w.do(t, step.MarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: names})
	w.unchanged(t)
	w.do(t, step.UnmarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: names})
	if c := liveClaim(t, w); marked(c) || c.Annotations["mine"] != "stays" {
		t.Errorf("annotations %v", c.Annotations)
	}
	w.kube.ClearActions()
	w.do(t, step.UnmarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: names})
	w.unchanged(t)
}

func TestMarkOfAnotherClaimWithTheName(t *testing.T) {
	w := newFixture(t, claim(topology.TiKV, 3, false))
	w.kube.PrependReactor("patch", "persistentvolumeclaims", func(a clienttesting.Action) (bool, runtime.Object, error) {
		other := claim(topology.TiKV, 3, false)
		other.UID, other.ResourceVersion = "another", "9"
		return false, nil, w.kube.Tracker().Update(a.GetResource(), other, "db")
	})
	err := w.Do(t.Context(), step.MarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: []step.Claim{{Name: claimName, UID: "uid-of-" + claimName}}})
	var s *Stale
	if !errors.As(err, &s) || marked(liveClaim(t, w)) {
		t.Errorf("got %v", err)
	}
}

// Another claim with the same name has other data: with the mark that data would be deleted, and
// without the mark old data would be used again.
func TestMarkGoesByIdentity(t *testing.T) {
	former := []step.Claim{{Name: claimName, UID: "uid-of-the-former"}}
	newFixture(t, claim(topology.TiKV, 3, false)).isStale(t, step.MarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: former})
	newFixture(t, claim(topology.TiKV, 3, true)).isStale(t, step.UnmarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: former})
}

// TestMarkHoursLater: a claim that has changed since is neither marked nor unmarked. Another driver may have removed
// the member, so that its data is left over, or have added the member again.
func TestMarkHoursLater(t *testing.T) {
	for _, is := range []bool{false, true} {
		now := claim(topology.TiKV, 3, is)
		now.ResourceVersion = "8"
		decided := []step.Claim{{Name: claimName, UID: "uid-of-" + claimName, Version: "7"}}
		s := step.Step(step.MarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: decided})
		if is {
			s = step.UnmarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", Claims: decided}
		}
		newFixture(t, now).isStale(t, s)
	}
	removed := step.UnmarkClaims{Component: topology.TiKV, Member: "basic-tikv-3", PodUID: "its pod", Claims: []step.Claim{{Name: claimName, UID: "uid-of-" + claimName}}}
	newFixture(t, claim(topology.TiKV, 3, true)).isStale(t, removed)
}

var deletion = step.DeleteClaim{Component: topology.TiKV, Member: "basic-tikv-3", Name: claimName, UID: "uid-of-" + claimName}

func forgets(s *pd.FakeState) {
	s.Stores[3].State = pd.StoreTombstone
	s.Members = s.Members[:2]
}

func TestDeleteClaim(t *testing.T) {
	w := newFixture(t, claim(topology.TiKV, 3, true), set(topology.TiKV, 3, 3))
	w.pd.Update(forgets)
	w.do(t, deletion)
	if _, err := w.kube.CoreV1().PersistentVolumeClaims("db").Get(t.Context(), claimName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	w.kube.ClearActions()
	w.do(t, deletion)
	w.unchanged(t)
}

// mounting returns a pod that mounts its claim.
func mounting(k topology.Kind, ordinal int) *corev1.Pod {
	p := pod(k, ordinal)
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim(k, ordinal, true).Name},
	}}}
	return p
}

// going returns the claim as Kubernetes shows it when it was deleted while a pod uses it.
func going(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
	return c
}

// A member in the middle whose store is a tombstone gets new data: its claims are deleted first,
// then its pod, each only while PD does not count on them.
func TestDeleteClaimOfRunningPod(t *testing.T) {
	next := deletion
	next.PodUID = "uid-of-basic-tikv-3"
	rescue := mounting(topology.TiKV, 3)
	rescue.Name, rescue.UID = "rescue", "rescue"
	for name, tt := range map[string]struct {
		objects []runtime.Object
		state   func(*pd.FakeState)
		refused bool
	}{
		"its own pod has it":      {[]runtime.Object{mounting(topology.TiKV, 3)}, forgets, false},
		"another pod has it":      {[]runtime.Object{mounting(topology.TiKV, 3), rescue}, forgets, true},
		"its pod was recreated":   {[]runtime.Object{func() *corev1.Pod { p := mounting(topology.TiKV, 3); p.UID = "new"; return p }()}, forgets, true},
		"its pod is gone":         {nil, forgets, true},
		"PD has its store":        {[]runtime.Object{mounting(topology.TiKV, 3)}, func(*pd.FakeState) {}, true},
		"PD calls its store back": {[]runtime.Object{mounting(topology.TiKV, 3)}, func(s *pd.FakeState) { s.Stores[3].State = pd.StoreOffline }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, append(tt.objects, claim(topology.TiKV, 3, true), set(topology.TiKV, 4, 4))...)
			w.pd.Update(tt.state)
			if tt.refused {
				w.isStale(t, next)
				return
			}
			w.do(t, next)
			if got := w.writes(); len(got) != 1 || got[0] != "delete persistentvolumeclaims" {
				t.Errorf("did %q", got)
			}
		})
	}
}

func TestDeletePod(t *testing.T) {
	s := step.DeletePod{Component: topology.TiKV, Member: "basic-tikv-3", UID: "uid-of-basic-tikv-3"}
	t.Run("its claim is going", func(t *testing.T) {
		w := newFixture(t, mounting(topology.TiKV, 3), going(claim(topology.TiKV, 3, true)))
		w.pd.Update(forgets)
		w.do(t, s)
		if got := w.writes(); len(got) != 1 || got[0] != "delete pods" {
			t.Errorf("did %q", got)
		}
		w.kube.ClearActions()
		w.do(t, s) // the answer was lost
		w.unchanged(t)
	})
	again := s
	again.Again = true
	t.Run("it crashed, and its claim is a new one", func(t *testing.T) {
		w := newFixture(t, mounting(topology.TiKV, 3), claim(topology.TiKV, 3, false))
		w.pd.Update(forgets)
		w.do(t, again)
		if got := w.writes(); len(got) != 1 || got[0] != "delete pods" {
			t.Errorf("did %q", got)
		}
	})
	t.Run("it crashed, and serves now", func(t *testing.T) {
		pod := mounting(topology.TiKV, 3)
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		w := newFixture(t, pod, claim(topology.TiKV, 3, false))
		w.pd.Update(forgets)
		w.isStale(t, again)
	})
	t.Run("another pod has taken its place", func(t *testing.T) {
		next := mounting(topology.TiKV, 3)
		next.UID = "next"
		w := newFixture(t, next)
		w.pd.Update(forgets)
		w.do(t, s)
		w.unchanged(t)
	})
	for name, tt := range map[string]struct {
		claim *corev1.PersistentVolumeClaim
		state func(*pd.FakeState)
	}{
		"its claim would stay": {claim(topology.TiKV, 3, true), forgets},
		"PD has its store":     {going(claim(topology.TiKV, 3, true)), func(*pd.FakeState) {}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, mounting(topology.TiKV, 3), tt.claim)
			w.pd.Update(tt.state)
			w.isStale(t, s)
		})
	}
}

func TestDeleteClaimPreconditions(t *testing.T) {
	user := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "rescue"},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName},
		}}}},
	}
	replaced := claim(topology.TiKV, 3, true)
	replaced.UID = "another"
	for _, tt := range []struct {
		name    string
		objects []runtime.Object
		state   func(*pd.FakeState)
	}{
		{"replaced", []runtime.Object{replaced}, forgets},
		{"not marked any more", []runtime.Object{claim(topology.TiKV, 3, false)}, forgets},
		{"its pod is there", []runtime.Object{claim(topology.TiKV, 3, true), pod(topology.TiKV, 3)}, forgets},
		{"used by another pod", []runtime.Object{claim(topology.TiKV, 3, true), user}, forgets},
		{"its pod is about to come", []runtime.Object{claim(topology.TiKV, 3, true), set(topology.TiKV, 4, 4)}, forgets},
		{"PD has its store", []runtime.Object{claim(topology.TiKV, 3, true)}, func(s *pd.FakeState) { s.Stores[3].State = pd.StoreOffline }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t, tt.objects...)
			w.pd.Update(tt.state)
			w.isStale(t, deletion)
		})
	}
	t.Run("PD has its member", func(t *testing.T) {
		w := newFixture(t, claim(topology.PD, 2, true))
		next := step.DeleteClaim{Component: topology.PD, Member: "basic-pd-2", Name: "pd-basic-pd-2", UID: "uid-of-pd-basic-pd-2"}
		w.pd.Update(func(s *pd.FakeState) { s.Members[2].Name = "" }) // added, never started
		w.isStale(t, next)
		w.pd.Update(forgets)
		w.do(t, next)
	})
	t.Run("PD does not answer", func(t *testing.T) {
		w := newFixture(t, claim(topology.TiKV, 3, true))
		w.pd.Update(func(s *pd.FakeState) { s.Unreachable = true })
		if err := w.Do(t.Context(), deletion); !errors.Is(err, pd.ErrUnreachable) {
			t.Errorf("got %v", err)
		}
		w.unchanged(t)
	})
	t.Run("the mark is removed just before", func(t *testing.T) {
		w := newFixture(t, claim(topology.TiKV, 3, true))
		w.pd.Update(forgets)
		w.pd.Hook = func(_ context.Context, _ string) error {
			saved := claim(topology.TiKV, 3, false)
			saved.ResourceVersion = "2"
			return w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), saved, "db")
		}
		err := w.Do(t.Context(), deletion)
		var s *Stale
		if !errors.As(err, &s) || !strings.Contains(err.Error(), "just changed") {
			t.Errorf("got %v", err)
		}
		liveClaim(t, w)
	})
}

// The volume is deleted with the claim: its reclaim policy is set before, and only if the volume is
// the claim's own.
func TestReclaim(t *testing.T) {
	reclaim := deletion
	reclaim.Reclaim = true
	bound := func() *corev1.PersistentVolumeClaim {
		c := claim(topology.TiKV, 3, true)
		c.Spec.VolumeName = "pv-3"
		return c
	}
	writes := func(t *testing.T, want []string, objects ...runtime.Object) {
		t.Helper()
		w := newFixture(t, objects...)
		w.pd.Update(forgets)
		w.do(t, reclaim)
		if got := w.writes(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	both := []string{"patch persistentvolumes", "delete persistentvolumeclaims"}
	writes(t, both, bound(), volume("Retain"), set(topology.TiKV, 3, 3))
	writes(t, both[1:], bound(), volume("Delete"), set(topology.TiKV, 3, 3))
	writes(t, both[1:], bound(), set(topology.TiKV, 3, 3))                       // its volume is gone
	writes(t, both[1:], claim(topology.TiKV, 3, true), set(topology.TiKV, 3, 3)) // it never had one

	for name, stale := range map[string][]runtime.Object{
		"tikv-11-37 the ordinal is wanted again": {bound(), volume("Retain"), set(topology.TiKV, 4, 4)},
		"tikv-11-37 the mark was taken off":      {claim(topology.TiKV, 3, false), volume("Retain")},
		"the volume is another claim's": {bound(), func() *corev1.PersistentVolume {
			v := volume("Retain")
			v.Spec.ClaimRef.UID = "another"
			return v
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, stale...)
			w.pd.Update(forgets)
			w.isStale(t, reclaim)
		})
	}
	t.Run("tikv-11-37 PD has the store", func(t *testing.T) {
		newFixture(t, bound(), volume("Retain")).isStale(t, reclaim)
	})
	t.Run("PD lists no stores for a moment", func(t *testing.T) {
		w := newFixture(t, bound(), volume("Retain"))
		w.pd.Update(func(s *pd.FakeState) { s.NotBootstrapped = true })
		if err := w.Do(t.Context(), reclaim); !errors.Is(err, pd.ErrNotBootstrapped) {
			t.Errorf("got %v", err)
		}
		w.unchanged(t)
	})
	t.Run("no right to patch volumes: the claim is not deleted either", func(t *testing.T) {
		w := newFixture(t, bound(), volume("Retain"))
		w.pd.Update(forgets)
		w.kube.PrependReactor("patch", "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("persistentvolumes"), "pv-3", nil)
		})
		if err := w.Do(t.Context(), reclaim); !apierrors.IsForbidden(err) {
			t.Errorf("got %v", err)
		}
		liveClaim(t, w)
	})
}

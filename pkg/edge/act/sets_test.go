package act

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func liveSet(t *testing.T, w *fixture, k topology.Kind) *appsv1.StatefulSet {
	t.Helper()
	s, err := w.kube.AppsV1().StatefulSets("db").Get(t.Context(), cluster.SetName(k), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResize(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 3, 3))
	w.do(t, step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 3, To: 4})
	if got := replicas(liveSet(t, w, topology.TiKV)); got != 4 {
		t.Errorf("%d replicas", got)
	}
	w.kube.ClearActions()
	w.do(t, step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 3, To: 4}) // the answer got lost
	w.unchanged(t)
	w.isStale(t, step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 2, To: 3})
	w.isStale(t, step.Resize{Component: topology.PD, Basis: of(topology.PD), From: 3, To: 4})
}

// A StatefulSet that deletes the claims of members that go is not scaled in, of whatever component. It may be
// scaled out.
func TestResizeThatTakesClaims(t *testing.T) {
	for _, k := range topology.Kinds() {
		s := set(k, 3, 3)
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
			WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
		}
		w := newFixture(t, s)
		err := w.Do(t.Context(), step.Resize{Component: k, Basis: of(k), From: 3, To: 2})
		if !isFinal(err) || !strings.Contains(err.Error(), "whenScaled: Delete") {
			t.Errorf("%s: got %v", k, err)
		}
		w.unchanged(t)
		w.do(t, step.Resize{Component: k, Basis: of(k), From: 3, To: 4})
	}
}

// A scale-in is for the pods of which it was decided: what they had given away, their successors may have.
func TestResizeOfOtherPods(t *testing.T) {
	uid := string(pod(topology.TiCDC, 2).UID)
	for name, tt := range map[string]struct {
		uids  []string // of the pods that leave, the highest ordinal first
		pods  []runtime.Object
		stale bool
	}{
		"the same pod":              {[]string{uid}, []runtime.Object{pod(topology.TiCDC, 2)}, false},
		"another pod":               {[]string{"former"}, []runtime.Object{pod(topology.TiCDC, 2)}, true},
		"a pod has come":            {[]string{""}, []runtime.Object{pod(topology.TiCDC, 2)}, true},
		"the pod is gone":           {[]string{uid}, nil, false},
		"there was none":            {[]string{""}, nil, false},
		"the higher one of two":     {[]string{"former", ""}, []runtime.Object{pod(topology.TiCDC, 2)}, true},
		"the pod of one that stays": {[]string{uid}, []runtime.Object{pod(topology.TiCDC, 2), pod(topology.TiCDC, 1)}, false},
	} {
		w := newFixture(t, append(tt.pods, set(topology.TiCDC, 3, 3))...)
		s := step.Resize{Component: topology.TiCDC, Basis: of(topology.TiCDC), From: 3, To: 3 - len(tt.uids)}
		for i, uid := range tt.uids {
			s.Leaving = append(s.Leaving, step.PodRef{Name: fmt.Sprintf("basic-ticdc-%d", 2-i), UID: uid})
		}
		if tt.stale {
			w.isStale(t, s)
			continue
		}
		w.do(t, s)
		if got := replicas(liveSet(t, w, topology.TiCDC)); got != s.To {
			t.Errorf("%s: %d replicas", name, got)
		}
	}
}

// A scale-in that was decided for one number of replicas must not start from another one, even if
// that changes between read and write.
func TestResizeReconsidersOnConflict(t *testing.T) { t.Run("pd-A6", reconsider) }

func reconsider(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 4, 4))
	interfere(t, w, "statefulsets", 1, func(s *appsv1.StatefulSet) {
		n := int32(5)
		s.Spec.Replicas = &n
	})
	if err := w.Do(t.Context(), step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 4, To: 3}); err == nil {
		t.Error("resized a StatefulSet that was just resized by another process")
	}
	if got := replicas(liveSet(t, w, topology.TiKV)); got != 5 {
		t.Errorf("%d replicas", got)
	}
}

func TestResizeAfterStatusUpdates(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 4, 4))
	interfere(t, w, "statefulsets", 3, func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas++ })
	w.do(t, step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 4, To: 3})
	if got := replicas(liveSet(t, w, topology.TiKV)); got != 3 {
		t.Errorf("%d replicas", got)
	}
}

func TestClose(t *testing.T) {
	w := newFixture(t, set(topology.PD, 3, 0))
	w.isStale(t, step.Close{Component: topology.PD, Basis: of(topology.PD), Partition: 4})
	w.do(t, step.Close{Component: topology.PD, Basis: of(topology.PD), Partition: 3})
	if got := render.Partition(liveSet(t, w, topology.PD)); got != 3 {
		t.Errorf("partition %d", got)
	}
	w.kube.ClearActions()
	w.do(t, step.Close{Component: topology.PD, Basis: of(topology.PD), Partition: 3})
	w.unchanged(t)
}

func restartOf(ordinal, from int, stuck bool) step.Restart {
	return step.Restart{
		Component: topology.TiKV, Member: cluster.PodName(topology.TiKV, ordinal), Ordinal: ordinal,
		Basis: of(topology.TiKV), From: from, PodUID: "uid-of-" + cluster.PodName(topology.TiKV, ordinal), Stuck: stuck,
	}
}

func TestRestart(t *testing.T) {
	w := newFixture(t, set(topology.TiKV, 3, 3), pod(topology.TiKV, 2))
	w.do(t, restartOf(2, 3, false))
	if got := render.Partition(liveSet(t, w, topology.TiKV)); got != 2 {
		t.Errorf("partition %d", got)
	}
	if _, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-tikv-2", metav1.GetOptions{}); err != nil {
		t.Errorf("the pod was deleted, which is left to the controller: %v", err)
	}
	w.kube.ClearActions()
	w.do(t, restartOf(2, 3, false)) // the answer got lost
	w.unchanged(t)
}

func TestRestartStuck(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		partition, from, want int32
	}{
		{"closed", 3, 3, 1},
		{"open already", 1, 1, 1},
		{"open further: never closed again", 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t, set(topology.TiKV, 3, tt.partition), pod(topology.TiKV, 1))
			w.do(t, restartOf(1, int(tt.from), true))
			if got := render.Partition(liveSet(t, w, topology.TiKV)); got != int(tt.want) {
				t.Errorf("partition %d", got)
			}
			if _, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-tikv-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the pod is still there: %v", err)
			}
		})
	}
}

func TestRestartPreconditions(t *testing.T) {
	for name, change := range map[string]func(*appsv1.StatefulSet, *corev1.Pod) *corev1.Pod{
		"the pod is gone": func(*appsv1.StatefulSet, *corev1.Pod) *corev1.Pod { return nil },
		"the pod was replaced": func(_ *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			p.UID = "another"
			return p
		},
		"the pod is terminating": func(_ *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			at := metav1.NewTime(now)
			p.DeletionTimestamp, p.Finalizers = &at, []string{"x/y"}
			return p
		},
		"the pod is new": func(_ *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			p.Labels[appsv1.ControllerRevisionHashLabelKey] = "new"
			return p
		},
		"the partition has moved": func(s *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			n := int32(1)
			s.Spec.UpdateStrategy.RollingUpdate.Partition = &n
			return p
		},
		"there is no such ordinal": func(s *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			n := int32(2)
			s.Spec.Replicas = &n
			return p
		},
		"the spec has just changed": func(s *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			s.Generation = 7
			return p
		},
		"restarts are manual": func(s *appsv1.StatefulSet, p *corev1.Pod) *corev1.Pod {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := set(topology.TiKV, 3, 3), pod(topology.TiKV, 2)
			w := newFixture(t)
			if p = change(s, p); p != nil {
				_ = w.kube.Tracker().Add(p)
			}
			_ = w.kube.Tracker().Add(s)
			for _, stuck := range []bool{false, true} {
				w.isStale(t, restartOf(2, 3, stuck))
			}
		})
	}
	for k, ordinal := range map[topology.Kind]int{topology.PD: 2, topology.TiKV: 3} {
		t.Run(string(k)+" would lose its data", func(t *testing.T) { restartLosing(t, k, ordinal) })
	}
	t.Run("restarts are manual, and nothing holds them back", func(t *testing.T) {
		s := set(topology.TiKV, 3, 0)
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		newFixture(t, s, pod(topology.TiKV, 2)).isStale(t, restartOf(2, 0, true))
	})
}

// restartLosing tests that a restart is refused which would delete data that PD counts on: a claim
// that is being deleted is gone as soon as no pod uses it.
func restartLosing(t *testing.T, k topology.Kind, ordinal int) {
	p, c := pod(k, ordinal), claim(k, ordinal, true)
	p.Spec.Volumes = []corev1.Volume{{Name: "config"}, {VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name},
	}}}
	s := step.Restart{Component: k, Basis: of(k), Member: p.Name, Ordinal: ordinal, From: ordinal + 1, PodUID: string(p.UID)}
	all := int32(ordinal + 1)
	newFixture(t, set(k, all, all), p, c).do(t, s)
	newFixture(t, set(k, all, all), p).do(t, s) // there is no data to lose any more
	at := metav1.NewTime(now)
	c.DeletionTimestamp, c.Finalizers = &at, []string{"kubernetes.io/pvc-protection"}
	w := newFixture(t, set(k, all, all), p, c)
	w.isStale(t, s)
	w.pd.Update(forgets)
	w.do(t, s)
	c.Name = "of-the-user" // a claim of the user, not a member's data
	p.Spec.Volumes[1].PersistentVolumeClaim.ClaimName = c.Name
	newFixture(t, set(k, all, all), p, c).do(t, s)
}

// A restart that was decided while its store was being evicted may come late, when another process has ended the
// eviction: the store would be restarted with all of its leaders.
func TestRestartNeedsItsEviction(t *testing.T) {
	restart := restartOf(1, 3, false)
	restart.StoreID = evict.StoreID
	for name, ends := range map[string]func(*fixture){
		"another process ended it": func(w *fixture) { w.do(t, allow) },
		"another process ended it and waits for the leaders": func(w *fixture) {
			w.do(t, step.AllowLeaders{Member: allow.Member, StoreID: allow.StoreID, Returning: true})
		},
		"PD has lost the scheduler": func(w *fixture) { w.pd.Update(evicting()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, set(topology.TiKV, 3, 3), pod(topology.TiKV, 1))
			w.do(t, evict)
			ends(w)
			before := len(w.writes())
			var stale *Stale
			if err := w.Do(t.Context(), restart); !errors.As(err, &stale) {
				t.Errorf("got %v", err)
			}
			if after := w.writes(); len(after) != before {
				t.Errorf("changed something: %q", after[before:])
			}
		})
	}
	w := newFixture(t, set(topology.TiKV, 3, 3), pod(topology.TiKV, 1))
	w.do(t, evict)
	w.do(t, restart)
	if got := render.Partition(liveSet(t, w, topology.TiKV)); got != 1 {
		t.Errorf("partition %d while the eviction lasts", got)
	}
}

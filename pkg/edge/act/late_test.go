package act

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/ledger"
)

// sleeps stops this process for hours before a request: others go on meanwhile.
func (w *fixture) sleeps(verb, resource string, meanwhile func()) {
	slept := false
	w.kube.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if !slept {
			slept = true
			meanwhile()
		}
		return false, nil, nil
	})
}

// rolledOut is what another driver has done meanwhile: its rollout is over and closed, all numbers are as
// before, and another template was applied.
func (w *fixture) rolledOut(t *testing.T, k topology.Kind) {
	obj, err := w.kube.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), "db", cluster.SetName(k))
	if err != nil {
		t.Fatal(err)
	}
	live := obj.(*appsv1.StatefulSet).DeepCopy()
	live.Generation += 4
	live.Status.ObservedGeneration, live.ResourceVersion = live.Generation, "theirs"
	live.Status.CurrentRevision, live.Status.UpdateRevision = "new", "newer"
	if err := w.kube.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("statefulsets"), live, "db"); err != nil {
		t.Fatal(err)
	}
}

// A process that has read the cluster sleeps for hours before it sends its request. Each step on a
// StatefulSet then finds another spec than the one that it was decided on, whatever its numbers are, and
// changes nothing.
func TestStepSentHoursLater(t *testing.T) {
	applied := set(topology.TiKV, 3, 3)
	applied.Spec.Template.Labels = map[string]string{"of": "the old run"}
	_, larger := sizedSet("10Gi", "20Gi")
	for name, tt := range map[string]struct {
		step     step.Step
		open     bool   // the partition is open
		at, what string // before which request it sleeps
	}{
		"restart":                                {restartOf(2, 3, false), false, "get", "statefulsets"},
		"restart, while it wrote":                {restartOf(2, 3, false), false, "update", "statefulsets"},
		"restart of a stuck pod":                 {restartOf(2, 3, true), false, "update", "statefulsets"},
		"restart of a stuck pod, partition open": {restartOf(2, 0, true), true, "get", "statefulsets"},
		"restart of a named one": {func() step.Step {
			s := restartOf(2, 3, false)
			s.Revision = "new"
			return s
		}(), true, "get", "statefulsets"},
		"scale in":   {step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 3, To: 2}, false, "update", "statefulsets"},
		"scale out":  {step.Resize{Component: topology.TiKV, Basis: of(topology.TiKV), From: 3, To: 4}, false, "get", "statefulsets"},
		"close":      {step.Close{Component: topology.TiKV, Basis: of(topology.TiKV), Partition: 3}, true, "update", "statefulsets"},
		"delete set": {deleteOf(topology.TiKV), false, "delete", "statefulsets"},
		"recreate set": {func() step.Step {
			s := recreated(larger)
			s.Replicas = 3
			return s
		}(), false, "delete", "statefulsets"},
		"apply": {step.Apply{Component: topology.TiKV, Object: desired.Object{
			Kind: "StatefulSet", Name: applied.Name, Drift: desired.Differs, Manifest: applied,
		}}, false, "update", "statefulsets"},
	} {
		t.Run(name, func(t *testing.T) {
			live := set(topology.TiKV, 3, 3)
			live.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*sized(0, "10Gi", "10Gi")}
			live.Spec.VolumeClaimTemplates[0].Name = "tikv"
			if tt.open {
				live.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(0))
			}
			if _, recreates := tt.step.(step.RecreateSet); recreates {
				live.Status.CurrentRevision = "new"
			}
			w := newFixture(t, live, pod(topology.TiKV, 2))
			var theirs *appsv1.StatefulSet
			w.sleeps(tt.at, tt.what, func() {
				w.rolledOut(t, topology.TiKV)
				obj, _ := w.kube.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("statefulsets"), "db", live.Name)
				theirs = obj.(*appsv1.StatefulSet).DeepCopy()
			})
			err := w.Do(t.Context(), tt.step)
			if _, late := errors.AsType[*Stale](err); !late {
				t.Errorf("got %v", err)
			}
			if theirs == nil {
				t.Fatal("it sent no such request")
			}
			if got := liveSet(t, w, topology.TiKV); got.ResourceVersion != theirs.ResourceVersion {
				t.Errorf("the StatefulSet of another driver's rollout was written: %+v", got.Spec)
			}
			if _, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-tikv-2", metav1.GetOptions{}); err != nil {
				t.Errorf("the pod was deleted: %v", err)
			}
		})
	}
}

// A pod that failed when it was to be deleted serves by the time of the request.
func TestPodDeletedHoursLater(t *testing.T) {
	again := step.DeletePod{Component: topology.TiKV, Member: "basic-tikv-3", UID: "uid-of-basic-tikv-3", Again: true}
	for name, s := range map[string]step.Step{"restart of a stuck pod": restartOf(3, 4, true), "deletion of a pod that fails": again} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, set(topology.TiKV, 4, 4), pod(topology.TiKV, 3))
			w.pd.Update(forgets)
			w.sleeps("delete", "pods", func() {
				p := pod(topology.TiKV, 3)
				p.ResourceVersion = "later"
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), p, "db"); err != nil {
					t.Fatal(err)
				}
			})
			err := w.Do(t.Context(), s)
			if _, late := errors.AsType[*Stale](err); !late {
				t.Errorf("got %v", err)
			}
			if _, err := w.kube.CoreV1().Pods("db").Get(t.Context(), "basic-tikv-3", metav1.GetOptions{}); err != nil {
				t.Errorf("the pod was deleted: %v", err)
			}
		})
	}
}

// TestBackBeforeItsRemoval: a member that was down when its removal was decided, and that PD calls healthy now,
// stays. A laptop that sleeps may send the request hours later.
func TestBackBeforeItsRemoval(t *testing.T) {
	member, store := remove, takeOffline
	member.Down, store.Down = true, true
	w := newFixture(t)
	w.isStale(t, member)
	w.isStale(t, store)
	if got := w.writes(); len(got) > 0 {
		t.Errorf("wrote %q", got)
	}
	w.pd.Update(func(s *pd.FakeState) {
		s.Unhealthy = map[string]bool{"basic-pd-2": true}
		s.Stores[3].StateName = "Down"
	})
	w.do(t, member)
	w.do(t, store)
}

// TestVoterBackBeforeItsRemoval: a member of PD that was down when its removal was decided is back. PD's health check
// may miss the member for a moment, so that the member itself is asked as well.
func TestVoterBackBeforeItsRemoval(t *testing.T) {
	down := remove
	down.Down = true
	for name, c := range map[string]struct {
		health, silent, lagging, stale bool
	}{
		"PD calls the member healthy":          {health: true, stale: true},
		"only the member says that it votes":   {stale: true},
		"the member does not answer":           {silent: true},
		"the member has not caught up":         {lagging: true},
		"the member is healthy, but is silent": {health: true, silent: true, stale: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			only := map[string]bool{"basic-pd-2": true}
			w.pd.Update(func(s *pd.FakeState) {
				if !c.health {
					s.Missed = only
				}
				if c.silent {
					s.Silent = only
				}
				if c.lagging {
					s.Lagging = only
				}
			})
			if c.stale {
				w.isStale(t, down)
				return
			}
			w.do(t, down)
		})
	}
}

// TestPeerDownBeforeARemoval: another store has gone down, or has joined and gone down, since the removal of a store or
// its restart was decided. The store stays, because regions may have copies on both.
func TestPeerDownBeforeARemoval(t *testing.T) {
	for name, change := range map[string]func(*pd.FakeState){
		"down":            func(s *pd.FakeState) { s.Stores[0].StateName = "Disconnected" },
		"joined and down": func(s *pd.FakeState) { s.Stores = append(s.Stores, downStore(99, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.pd.Update(change)
			w.isStale(t, takeOffline)
			if got := w.writes(); len(got) > 0 {
				t.Errorf("wrote %q", got)
			}
		})
	}
	t.Run("copies do not vote", func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) {
			s.Stores = append(s.Stores, downStore(99, map[string]string{"engine": "tiflash"}))
		})
		w.do(t, takeOffline)
	})
	t.Run("known when it was decided", func(t *testing.T) {
		w := newFixture(t)
		w.pd.Update(func(s *pd.FakeState) { s.Stores = append(s.Stores, downStore(99, nil)) })
		known := takeOffline
		known.NotUp = []uint64{99}
		w.do(t, known)
	})
}

// TestOtherRemovalBegun: a run that was stopped takes no store offline beside one that another run has begun meanwhile.
func TestOtherRemovalBegun(t *testing.T) {
	records := func(owner string) *fixture {
		text, err := ledger.Encode(ledger.Record{Member: "basic-tikv-2", Since: time.Now(), Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
		return newFixture(t, ledgerMap(map[string]string{ledger.Key(state.RecordRemoval, 3): text}))
	}
	w := records("another")
	w.isStale(t, takeOffline)
	if got := w.writes(); len(got) > 0 {
		t.Errorf("wrote %q", got)
	}
	known := takeOffline
	known.Removals = []uint64{3}
	w.do(t, known)
	w = records("")
	w.isStale(t, takeOffline)
	w = records(newFixture(t).owner)
	w.do(t, takeOffline)
}

// TestPeerDownBeforeARestart is the same for a restart whose leaders were evicted.
func TestPeerDownBeforeARestart(t *testing.T) {
	w := newFixture(t)
	w.do(t, evict)
	next := step.Restart{Component: topology.TiKV, Member: "basic-tikv-1", StoreID: 2}
	if err := w.stillEvicting(t.Context(), next); err != nil {
		t.Fatalf("with all stores Up: %v", err)
	}
	w.pd.Update(func(s *pd.FakeState) { s.Stores = append(s.Stores, downStore(99, nil)) })
	if _, late := errors.AsType[*Stale](w.stillEvicting(t.Context(), next)); !late {
		t.Error("the restart goes on although store 99 is Down now")
	}
	next.NotUp = []uint64{99}
	if err := w.stillEvicting(t.Context(), next); err != nil {
		t.Errorf("with a store that was down before: %v", err)
	}
}

func downStore(id uint64, labels map[string]string) pd.Store {
	return pd.Store{ID: id, Address: "elsewhere-99.other:20160", State: pd.StoreUp, StateName: "Down", Labels: labels}
}

// TestJoinedBeforeARestart: a store has joined PD since its restart with other volumes was decided. It keeps its pod,
// because its data is on the volumes of that pod. No pod is taken away either while PD does not answer.
func TestJoinedBeforeARestart(t *testing.T) {
	restarts := func(revision string) (*fixture, step.Restart) {
		s := restartOf(3, 4, true)
		s.Unlisted, s.Revision = true, revision
		return newFixture(t, set(topology.TiKV, 4, 4), pod(topology.TiKV, 3)), s
	}
	for _, revision := range []string{"", "new"} {
		w, s := restarts(revision)
		w.isStale(t, s)
		if got := w.writes(); len(got) > 0 {
			t.Errorf("revision %q: wrote %q", revision, got)
		}
	}
	for name, change := range map[string]func(*pd.FakeState){
		"PD does not list it":     forgets,
		"no store has joined yet": func(f *pd.FakeState) { f.NotBootstrapped = true },
	} {
		t.Run(name, func(t *testing.T) {
			w, s := restarts("")
			w.pd.Update(change)
			w.do(t, s)
		})
	}
	t.Run("PD does not answer", func(t *testing.T) {
		w, s := restarts("")
		w.pd.Update(func(f *pd.FakeState) { f.Unreachable = true })
		if err := w.Do(t.Context(), s); err == nil || len(w.writes()) > 0 {
			t.Errorf("got %v, wrote %q", err, w.writes())
		}
	})
}

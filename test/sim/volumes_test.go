package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// uidsOf returns the UIDs of the pods of a component.
func (w *Model) uidsOf(k kind) (all [limit]string) {
	for i, p := range w.pods[k] {
		if p != nil {
			all[i] = p.uid
		}
	}
	return all
}

// samePods ends a scenario in which no pod may be replaced.
func samePods(t *testing.T, w *Model, before [limit]string) {
	t.Helper()
	fine(t, w)
	if got := w.uidsOf(tikv); got != before {
		t.Fatalf("pods %v, were %v\n%s", got, before, w.Transcript())
	}
}

func TestGrowVolumes(t *testing.T) {
	t.Run("tidb-S1 pd-A8 when converged nothing is requested", func(t *testing.T) {
		w := settled(Options{})
		fine(t, w)
		notInTranscript(t, w, "volume")
		notInTranscript(t, w, "recreate StatefulSet")
	})

	t.Run("no pod is restarted", func(t *testing.T) {
		w := settled(Options{})
		before := w.uidsOf(tikv)
		w.Resize(topology.TiKV, 20)
		samePods(t, w, before)
	})

	t.Run("tidb-S2 all stores are down for want of room", func(t *testing.T) {
		w := settled(Options{})
		w.When(func(w *Model) bool { return w.claims[tikv][0].capacity < 20 }, func() {
			for i := range 3 {
				w.lose(w.pods[tikv][i], 100_000)
			}
		})
		w.Resize(topology.TiKV, 20)
		_, _ = w.Drive(20 * time.Minute)
		for i := range 3 {
			if got := w.claims[tikv][i].capacity; got != 20 {
				t.Errorf("%s has %d Gi\n%s", w.names[tikv][i], got, w.Transcript())
			}
			w.pods[tikv][i].lost = w.t
		}
		fine(t, w)
	})

	t.Run("new members come with the new size", func(t *testing.T) {
		w := settled(Options{})
		w.Resize(topology.TiKV, 20)
		fine(t, w)
		w.Scale(topology.TiKV, 4)
		fine(t, w)
		notInTranscript(t, w, "grow volume tikv-basic-tikv-3")
	})

	t.Run("pd-A9 tidb-B20 not while paused, and not for less", func(t *testing.T) {
		w := settled(Options{})
		w.Intent.Paused = true
		w.Resize(topology.TiKV, 20)
		_, _ = w.Drive(time.Minute)
		notInTranscript(t, w, "grow")
		w.Intent.Paused = false
		w.OnStep("grow volume tikv-basic-tikv-2", func() { w.Resize(topology.TiKV, 10) })
		fine(t, w)
		notInTranscript(t, w, "recreate StatefulSet")
	})

	t.Run("a rollout comes first", func(t *testing.T) {
		w := settled(Options{})
		w.Upgrade("v2", topology.TiKV)
		w.OnStep("restart basic-tikv-2", func() { w.Resize(topology.TiKV, 20) })
		w.OnStep("recreate StatefulSet", func() {
			if w.sets[tikv].current != "v2" {
				t.Error("in the middle of a rollout")
			}
		})
		fine(t, w)
	})
}

// A run is killed after it has deleted the StatefulSet and before it has created it again.
func TestKilledWhileRecreatingASet(t *testing.T) {
	killed := func(t *testing.T) *Model {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 2})
		w.Resize(topology.TiKV, 20)
		w.OnStep("recreate StatefulSet", func() {
			w.orphan(tikv)
			w.kill()
		})
		_, _ = w.Drive(time.Hour)
		if w.sets[tikv].exists || w.pods[tikv][4] == nil {
			t.Fatal(w.Transcript())
		}
		return w
	}

	t.Run("the next run makes it", func(t *testing.T) {
		w := killed(t)
		before := w.uidsOf(tikv)
		samePods(t, w, before)
		notInTranscript(t, w, "restart")
	})

	t.Run("PD does not answer just then", func(t *testing.T) {
		w := killed(t)
		before := w.uidsOf(tikv)
		w.pd.silentUntil = w.t + 600
		_, _ = w.Drive(time.Minute)
		if !w.sets[tikv].exists {
			t.Error("pods without a controller", w.Transcript())
		}
		samePods(t, w, before)
	})

	t.Run("fewer members are wanted by then", func(t *testing.T) {
		w := killed(t)
		w.Scale(topology.TiKV, 3)
		fine(t, w)
		notInTranscript(t, w, "restart")
		if !inTranscript(w, "take store 5 of basic-tikv-4 offline") || !inTranscript(w, "take store 4 of basic-tikv-3 offline") {
			t.Error(w.Transcript())
		}
	})

	t.Run("more members are wanted by then", func(t *testing.T) {
		w := killed(t)
		w.Scale(topology.TiKV, 7)
		fine(t, w)
		notInTranscript(t, w, "restart")
	})

	t.Run("another template is wanted by then", func(t *testing.T) {
		w := killed(t)
		before := w.uidsOf(tikv)
		w.Upgrade("v2", topology.TiKV)
		w.OnStep("restart basic-tikv-4", func() {
			if got := w.uidsOf(tikv); got != before {
				t.Errorf("pods %v were replaced without a rollout, were %v", got, before)
			}
		})
		fine(t, w)
		if !inTranscript(w, "evict region leaders from basic-tikv-0") {
			t.Error(w.Transcript())
		}
	})

	t.Run("less is wanted by then", func(t *testing.T) {
		w := killed(t)
		before := w.uidsOf(tikv)
		w.Resize(topology.TiKV, 10)
		samePods(t, w, before)
	})
}

// A StatefulSet that was deleted by hand without its pods takes them over again.
func TestDeletedStatefulSet(t *testing.T) {
	for name, wanted := range map[string]int{"as many": 4, "fewer are wanted": 3} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
			w.orphan(tikv)
			w.Scale(topology.TiKV, wanted)
			fine(t, w)
			notInTranscript(t, w, "restart")
		})
	}
}

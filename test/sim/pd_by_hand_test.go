package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A person deletes a store in PD. That is not undone, and is reported, whatever else is asked for.
// Its member gets a new store when this one is a tombstone. (A.4)
func TestStoreDeletedByHand(t *testing.T) {
	t.Run("it is left alone", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		w.offlineByHand(w.stores[2])
		w.Upgrade("v2", topology.TiDB)
		fine(t, w)
		notInTranscript(t, w, "bring store 3")
		inOrder(t, w, "store 3 was taken offline in PD by another user or tool", "recreate pod basic-tikv-2")
	})
	t.Run("its regions do not leave", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		w.offlineByHand(w.stores[2])
		w.stores[2].stays = w.t + 7200
		_, _ = w.Drive(90 * time.Minute)
		notInTranscript(t, w, "bring store 3")
		w.cancelDelete(w.stores[2])
		fine(t, w)
		if w.stores[2].state != state.StoreUp {
			t.Error(w.Transcript())
		}
	})
	t.Run("one that we remove ourselves is brought back", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		w.offlineByHand(w.stores[2])
		w.stores[2].stays = w.t + 600
		w.Scale(topology.TiKV, 4)
		w.When(func(w *Model) bool { return w.stores[4].state == state.StoreOffline }, func() { w.Scale(topology.TiKV, 5) })
		fine(t, w)
		notInTranscript(t, w, "bring store 3")
	})
}

// One step of one component always fails. The steps of other components are taken all the same.
// (A.8)
func TestOneStepFailsForEver(t *testing.T) {
	for name, ask := range map[string]func(w *Model){
		"scale-in of TiDB": func(w *Model) { w.Scale(topology.TiDB, 1) },
		"scale-in of PD":   func(w *Model) { w.Scale(topology.PD, 1) },
		"failover of TiDB": func(w *Model) { w.lose(w.pods[tidb][1], 4000) },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 4, TiDB: 3, Failover: true})
			w.broken = broken{action: "Restart", component: "tikv", until: w.t + 3600}
			w.halt(w.pods[tikv][3], 4000) // so that its restart is free, and the first step of all
			w.Upgrade("v2", topology.TiKV)
			ask(w)
			for range 6 { // each run ends when its steps have failed too often
				_, _ = w.Drive(10 * time.Minute)
				w.Pass(30)
			}
			switch name {
			case "scale-in of TiDB":
				if n := w.sets[tidb].spec.replicas; n != 1 {
					t.Errorf("TiDB has %d replicas\n%s", n, w.Transcript())
				}
			case "scale-in of PD":
				if n := w.sets[pd].spec.replicas; n != 1 {
					t.Errorf("PD has %d replicas\n%s", n, w.Transcript())
				}
			default:
				if !inTranscript(w, "give up basic-tidb-1") {
					t.Error(w.Transcript())
				}
			}
		})
	}
}

// A new leader of PD takes minutes to load its schedulers. The run waits for that; it does not end
// with an error, and takes nothing back. (A.5)
func TestSchedulersLoadSlowly(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("evict region leaders from basic-tikv-1", func() { w.pd.loadedAt = w.t + 300 })
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Converged {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	fine(t, w)
}

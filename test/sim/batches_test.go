package sim

import (
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestBatchSeeds restarts stores in batches, among faults that change where replicas are and which stores run. No region
// loses its quorum by a step of the engine.
func TestBatchSeeds(t *testing.T) {
	r := runSeeds(t, *seeds/10, BatchSeed)
	r.report(t, "TestBatchSeeds", BatchSeed)
	if *seeds >= 500 && r.soft.Together == 0 {
		t.Error("no two members restarted together")
	}
}

// inZones is a cluster with nine stores in three zones, of which a command restarts so many at the same time. PD keeps
// the replicas of each region in different zones.
func inZones(concurrency int) Options {
	return Options{
		PD: 3, TiKV: 9, TiDB: 2, Many: true, Zones: []int{0, 1, 2}, Isolated: true, Concurrency: plan.Concurrency{Number: concurrency},
	}
}

// TestBatches: stores of one zone restart together, and the rollout takes less time than one store at a time.
func TestBatches(t *testing.T) {
	took := func(concurrency int) (seconds int64, together int) {
		w := settled(inZones(concurrency))
		w.Upgrade("v2", topology.TiKV)
		begun := w.t
		fine(t, w)
		if set := &w.sets[tikv]; set.spec.manual || set.spec.batches || set.spec.partition != 9 {
			t.Errorf("at the end: %+v", set.spec)
		}
		return w.t - begun, w.Soft.Together
	}
	single, none := took(1)
	several, together := took(3)
	if none != 0 || together < 3 || several*2 > single {
		t.Errorf("one at a time took %d s, in batches %d s with %d restarts beside another one", single, several, together)
	}
}

// TestBatchesRelabelled: in the middle of a rollout a person gives a store the label of another zone. Regions have
// replicas on that store and on a store of the zone. So the two do not restart together before PD has moved replicas,
// although PD's counts are those of a moment ago.
func TestBatchesRelabelled(t *testing.T) {
	for _, at := range []string{"restart basic-tikv-8", "evict region leaders from basic-tikv-5", "restart members of TiKV in batches", "restart basic-tikv-5"} {
		t.Run(at, func(t *testing.T) {
			w := settled(inZones(4))
			other := w.sharing(5, 1)
			w.Upgrade("v2", topology.TiKV)
			w.OnStep(at, func() { w.label(other, 2) })
			w.OnStep("evict region leaders from "+w.names[tikv][other], func() { // the store of the batch is away for longer
				if p := w.pods[tikv][5]; p != nil && p.terminating() {
					p.running, p.goneAt, p.since = false, w.t, w.t-60
				}
			})
			fine(t, w)
			if w.Soft.Together == 0 {
				t.Errorf("no two stores restarted together\n%s", w.Transcript())
			}
		})
	}
}

// sharing returns an ordinal in a zone whose store has replicas of the same regions as the store of another ordinal.
func (w *Model) sharing(i, zone int) int {
	for _, r := range w.regions {
		if !slices.Contains(r.replicas, w.ownStore(i)) {
			continue
		}
		for _, s := range r.replicas {
			if w.zone(s.ordinal) == zone {
				return s.ordinal
			}
		}
	}
	return -1
}

// TestBatchesNotIsolated: PD is told to keep replicas apart while the canary restarts, and moves them two minutes later.
func TestBatchesNotIsolated(t *testing.T) {
	o := inZones(3)
	o.Isolated, o.Zones = false, []int{0, 0, 0, 1, 1, 1, 2, 2, 2}
	w := settled(o)
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("restart basic-tikv-8", func() {
		for i, zone := range []int{0, 1, 2, 0, 1, 2, 0, 1, 2} {
			w.label(i, zone)
		}
		w.isolate()
		w.pd.idle = w.t + 120
	})
	w.OnStep("restart members of TiKV in batches", func() {
		if w.t < w.pd.idle {
			t.Errorf("batches begin while PD has moved nothing\n%s", w.Transcript())
		}
	})
	fine(t, w)
	inOrder(t, w, "restart members of TiKV in batches")
}

// TestBatchesKilled: the run ends in the middle of a batch, and the next one restarts one store at a time.
func TestBatchesKilled(t *testing.T) {
	for _, at := range []string{"restart members of TiKV in batches", "restart basic-tikv-5", "restart basic-tikv-2", "finish the batches of TiKV"} {
		t.Run(at, func(t *testing.T) {
			w := settled(inZones(3))
			w.Upgrade("v2", topology.TiKV)
			w.OnStep(at, func() {
				w.Concurrency = plan.Concurrency{}
				w.kill()
			})
			fine(t, w)
			inOrder(t, w, at)
		})
	}
}

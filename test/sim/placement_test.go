package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The model keeps PD's placement rules: no two copies in one zone, and the wanted number on stores
// of each tier.
func TestRulesAreKept(t *testing.T) {
	for _, o := range []Options{
		{PD: 3, TiKV: 5, TiDB: 1, Zones: []int{0, 0, 1, 1, 2}, Isolated: true},
		{PD: 3, TiKV: 4, TiDB: 1, Tiers: []int{0, 1, 0, 0}, Copies: []int{2, 1}},
	} {
		w := settled(o)
		w.Pass(600)
		for _, r := range w.regions {
			places := map[int]int{}
			for _, s := range r.replicas {
				if o.Isolated {
					places[w.zone(s.ordinal)]++
				} else {
					places[w.tier(s.ordinal)]++
				}
			}
			if o.Isolated && len(places) != 3 || !o.Isolated && (places[0] != 2 || places[1] != 1) {
				t.Errorf("%+v: %v", o, places)
			}
		}
	}
}

// A store that the rules need is not taken offline. A person who reads that changes the rules, and
// then the store is removed.
func TestStoreThatRulesNeed(t *testing.T) {
	for _, o := range []Options{
		{PD: 3, TiKV: 4, TiDB: 1, Zones: []int{0, 0, 1, 2}, Isolated: true},
		{PD: 3, TiKV: 4, TiDB: 1, Tiers: []int{0, 0, 0, 1}, Copies: []int{2, 1}},
	} {
		w := settled(o)
		w.Scale(topology.TiKV, 3)
		p, err := w.Drive(time.Hour)
		if err != nil || p.Outcome != plan.Blocked {
			t.Fatalf("%s, %v\n%s", gates(p), err, w.Transcript())
		}
		notInTranscript(t, w, "offline")
		if verdict := w.judge(step.RemoveStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: 4}); len(verdict) == 0 || !broke(verdict, "places") {
			t.Errorf("the rule does not see it: %v", verdict)
		}
		w.obey(p)
		fine(t, w)
	}
}

func broke(found []Violation, rule string) bool {
	for _, v := range found {
		if v.Rule == rule {
			return true
		}
	}
	return false
}

// The only store of a zone has lost its data and was given up with it, and a person has taken it
// offline. PD has no place for its regions. People who replace pods themselves start a run every
// ten minutes, and each of those runs has just begun to wait. (seed 1795352740722)
func TestShortRunsReportThatRegionsHaveNoPlace(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Isolated: true, Zones: []int{0, 1, 2, 2, 1}, Failover: true})
	w.Manual(topology.PD)
	w.failures[tikv] = []topology.Failure{{Member: "basic-tikv-0", ID: w.ownStore(0).id, Discarded: true}}
	w.offlineByHand(w.ownStore(0))
	w.claims[tikv][0] = nil
	w.remove(w.pods[tikv][0])
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "the engine ends: blocked", "user: PD's placement rules ask for less now")
}

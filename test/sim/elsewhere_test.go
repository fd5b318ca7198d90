package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Regions have replicas on a store of another TidbCluster with the same PD. While that one is away, no store here
// restarts or leaves: regions would have no quorum. When it is back, everything goes on.
func TestStoreElsewhereIsAPeer(t *testing.T) {
	for name, change := range map[string]func(*Model){
		"upgrade":  func(w *Model) { w.Upgrade("v2", topology.TiKV) },
		"scale in": func(w *Model) { w.Scale(topology.TiKV, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 4, StoresElsewhere: 1})
			w.Pass(60)
			far := w.stores[len(w.stores)-1]
			if !far.elsewhere() || far.regions == 0 {
				t.Fatalf("no store elsewhere has regions: %+v", *far)
			}
			far.awayUntil = w.t + 1200
			w.Pass(60)
			change(w)
			_, _ = w.Drive(10 * time.Minute)
			notInTranscript(t, w, "restart basic-tikv")
			notInTranscript(t, w, "take store")
			far.awayUntil = 0
			fine(t, w)
		})
	}
}

// A store elsewhere is the only one that can take the regions of a store that is to leave. A person takes it offline when
// that has been decided, which no engine can know. A removal that is decided after that is wrong. (seed 306501487)
func TestStoreElsewhereThatLeavesMeanwhile(t *testing.T) {
	for rule, o := range map[string]Options{
		"room":   {PD: 3, TiKV: 4, StoresElsewhere: 1, Faults: Faults{Fill: 1}},
		"places": {PD: 3, TiKV: 4, StoresElsewhere: 1, Zones: []int{0, 0, 1, 2}, Isolated: true},
	} {
		w := settled(o)
		w.Pass(60)
		far := w.stores[len(w.stores)-1]
		far.ordinal = limit + 3 // in the zone of basic-tikv-3
		for _, s := range w.stores {
			capacity, _ := w.room(s)
			s.used = capacity * 9 / 10
		}
		next := step.RemoveStore{Component: topology.TiKV, Member: "basic-tikv-3", StoreID: w.ownStore(3).id}
		w.seen = w.sight()
		w.offlineByHand(far)
		if found := w.judge(next); broke(found, rule) {
			t.Errorf("decided before that: %v", found)
		}
		w.seen = w.sight()
		if found := w.judge(next); !broke(found, rule) {
			t.Errorf("%s: decided after that, and no rule is broken: %v", rule, found)
		}
	}
}

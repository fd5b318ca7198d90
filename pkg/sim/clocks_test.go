package sim

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The clock of PD's leader is four minutes ahead, so that it dates the last heartbeat of a process
// after the start of the next one. While that one opens its data, its store is Up in PD and its pod
// is Ready. It does not serve, so no other store is restarted.
func TestStoreOpensItsDataAndPDsClockIsAhead(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	for i := range 3 {
		w.clocks[pd][i] = offset
	}
	w.Pass(heartbeats)
	w.Upgrade("v2", topology.TiKV)
	crashed := int64(0)
	w.OnStep("evict region leaders from basic-tikv-1", func() {
		w.opensFor, crashed = 90, w.t
		w.halt(w.pods[tikv][2], 1)
	})
	w.OnStep("restart basic-tikv-1", func() {
		if w.t-crashed < 90 {
			t.Errorf("restarted after %d s", w.t-crashed)
		}
	})
	fine(t, w)
	if crashed == 0 {
		t.Error("the store has not crashed")
	}
}

package sim

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The clock of PD's leader is ahead, and that of the next leader is behind, so that the last
// heartbeat of a process seems to come after the start of the next one. While that one opens its
// data, its store is Up in PD and its pod is Ready. It does not serve, so no other store is restarted.
func TestStoreOpensItsDataAndPDsClockIsAhead(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	for i := range 3 {
		w.clocks[pd][i] = offset
	}
	w.Faults.Saved = true
	w.Pass(heartbeats)
	w.Upgrade("v2", topology.TiKV)
	crashed := int64(0)
	w.OnStep("evict region leaders from basic-tikv-1", func() {
		w.opensFor, crashed = 90, w.t
		w.halt(w.pods[tikv][2], 1)
		for i := range 3 {
			w.clocks[pd][i] = -offset
		}
		s := w.ownStore(2)
		s.saved, s.savedDate = s.heartbeat, s.dated
		w.led()
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

// lateHeartbeats changes the template of TiKV while Kubernetes hears nothing of the host of the store
// that comes first, and PD moves no leaders. Minutes later the store's heartbeats are late for less
// than it takes to believe that it is down. The store is restarted only when its leaders have moved.
func lateHeartbeats(t *testing.T, w *Model, meanwhile func()) {
	t.Helper()
	w.pods[tikv][2].unseen, w.pd.idle = w.t+500, w.t+500
	w.Upgrade("v2", topology.TiKV)
	late := w.t + 300
	w.When(func(w *Model) bool { return w.t >= late }, func() { w.ownStore(2).muffled = w.t + 100 })
	w.When(func(w *Model) bool { return w.t >= late+5 }, meanwhile)
	fine(t, w)
	notInTranscript(t, w, "is restarted with")
}

// PD's clock is behind, so that the last heartbeat looks minutes older. (seed 1795398228361)
func TestLateHeartbeatsAndPDsClockIsBehind(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	for i := range 3 {
		w.clocks[pd][i] = -offset
	}
	lateHeartbeats(t, w, func() {})
}

// PD's leader is elected again, under the same name: it knows the heartbeat of that store as it was
// saved minutes ago. (seed 1795402463119)
func TestLateHeartbeatsAndPDsLeaderIsElectedAgain(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1})
	w.Faults.Saved = true
	lateHeartbeats(t, w, func() {
		s := w.ownStore(2)
		s.saved, s.savedDate = w.t-200, w.t-200
		w.led()
	})
}

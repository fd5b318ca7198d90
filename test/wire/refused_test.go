package wire

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestLeaderTransferPaused: PD's leader refuses an evict-leader scheduler, because by its memory the store has one. No
// further attempt helps, and the message says what does.
func TestLeaderTransferPaused(t *testing.T) {
	scenario(t, sim.Options{PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.members.TransfersPaused = true
		text, writes := w.attempt(t, 10*time.Minute, "restart", "basic", "tikv", "--yes")
		wantText(t, text, "is paused for leader transfer")
		wantText(t, text, "have another member lead PD, which does not believe that: kubectl tidb transfer-leader basic")
		wantNone(t, writes, "DELETE", pods)
		if asked := count(writes, "POST /pd/api/v1/schedulers"); asked != 1 {
			t.Errorf("PD was asked %d times for a scheduler", asked)
		}
	})
}

// TestDrainThatMovesNothing: TiCDC answers in its new architecture that a capture has no tables left, and moves none. A
// restart goes on, and says that it goes on without a drain.
func TestDrainThatMovesNothing(t *testing.T) {
	o := sim.Options{PD: 1, TiKV: 3, TiDB: 1, TiCDC: 2, Feeds: 4, CannotDrain: true}
	scenario(t, o, func(t *testing.T, w *World) {
		w.members.EmptyDrains = true
		w.Must(t, 0, "upgrade", "basic", "v8.5.5", "--yes")
		r := w.Must(t, 0, "restart", "basic", string(topology.TiCDC), "--yes")
		wantText(t, r.Out+r.Err, "TiCDC v8.5.5 does not drain in its new architecture")
	})
}

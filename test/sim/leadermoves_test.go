package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestKilledWithALimit: a run with a limit of leader moves that is killed at any step leaves a PD that soon has its own
// limit, and that of a run that goes on without one.
func TestKilledWithALimit(t *testing.T) {
	for _, at := range []string{
		"have PD move", "evict region leaders from basic-tikv-2", "restart basic-tikv-2", "allow region leaders on basic-tikv-2",
	} {
		w := settled(Options{Eviction: plan.Eviction{MaxMoves: 1}})
		w.Upgrade("v2", topology.TiKV)
		w.OnStep(at, w.kill)
		_, _ = w.Drive(time.Hour)
		if inTranscript(w, "finish the rollout of TiKV") {
			t.Fatalf("%s: the run was not killed\n%s", at, w.Transcript())
		}
		w.Eviction.MaxMoves = 0
		w.Pass(int(step.LimitLasts / time.Second))
		if n := w.movesPerTick(); n != perTick {
			t.Errorf("%s: PD still moves %d leaders at a time", at, n)
		}
		fine(t, w)
	}
}

// TestLimitIsKept: an eviction that takes longer than PD keeps a limit is limited to its end.
func TestLimitIsKept(t *testing.T) {
	w := settled(Options{Eviction: plan.Eviction{MaxMoves: 1}})
	w.Upgrade("v2", topology.TiKV)
	late := 0
	w.OnStep("evict region leaders from basic-tikv-2", func() {
		w.pd.idle = w.t + 300
		w.When(func(w *Model) bool {
			if w.t < w.pd.idle && w.t%10 == 0 && w.movesPerTick() != 1 {
				late++
			}
			return w.t >= w.pd.idle
		}, func() {})
	})
	fine(t, w)
	if late > 0 || w.t < 300 {
		t.Errorf("without the limit %d times\n%s", late, w.Transcript())
	}
}

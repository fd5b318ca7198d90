package wire

import (
	"context"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestWhyMember: the whole answer of "why" is in golden files, of a TiDB server that may be restarted, and of a store
// that waits because another store does not serve.
func TestWhyMember(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.interrupted(t, "restart", "basic", "tidb", "--yes")
		w.toWholeMinute()
		plantest.Golden(t, "why-may-restart.txt", w.Must(t, 0, "why", "basic", "tidb-1").Out)
		w.Must(t, 0, "sync", "basic", "--yes")

		w.interrupted(t, "restart", "basic", "tikv", "--yes")
		w.toWholeMinute()
		w.Model.BreakDisk(topology.TiKV, 0)
		w.Sleep(5 * time.Minute)
		plantest.Golden(t, "why-waits.txt", w.Must(t, 0, "why", "basic", "tikv-2").Out)
		w.Model.MendDisk(topology.TiKV, 0)
		w.Must(t, 0, "sync", "basic", "--yes")
	})
}

// TestWhyReplacement: the whole answer of "why" is in a golden file, of a store that leaves so that it gets a new volume.
func TestWhyReplacement(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 4, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.KeepRegions(100000)
		w.said(w.Killed(t.Context(), w.Model.Leaving, "replace", "basic", "tikv-1", "--yes"))
		w.toWholeMinute()
		plantest.Golden(t, "why-replacement.txt", w.Must(t, 0, "why", "basic", "tikv-1").Out)
	})
}

// interrupted begins a rollout, and interrupts the command before a member is restarted.
func (w *World) interrupted(t *testing.T, args ...string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer end()
	before := w.Model.Soft.Restarts
	if w.said(w.Command(ctx, args...)); w.Model.Soft.Restarts > before {
		t.Fatalf("kubectl tidb %v has restarted a member", args)
	}
}

// toWholeMinute lets time pass until minutes that are a multiple of ten, so that times in a golden file do not depend
// on how long commands have taken before.
func (w *World) toWholeMinute() {
	const ten = 10 * time.Minute
	w.Sleep(time.Until(time.Now().Truncate(ten).Add(ten)))
}

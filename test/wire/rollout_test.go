package wire

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestLifecycle: a cluster is created, upgraded, scaled out and in, restarted and deleted, without a fault.
func TestLifecycle(t *testing.T) {
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.Must(t, 0, "create", "basic", "--version", "v8.1.0", "--storage", "1Gi")
		w.Must(t, 0, "upgrade", "basic", "v8.1.1", "--yes")
		w.Must(t, 0, "scale", "basic", "tikv=4", "tidb=3", "--yes")
		w.Must(t, 0, "scale", "basic", "tikv=3", "pd=4", "--yes")
		w.Must(t, 0, "scale", "basic", "pd=3", "--yes")
		w.Must(t, 0, "restart", "basic", "tikv", "--yes")
		w.Must(t, 0, "status", "basic")
		w.Model.AskDeletion()
		w.Must(t, 0, "delete", "basic", "--yes")
		w.wantUnbroken(t)
	})
}

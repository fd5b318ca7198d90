package wire

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/sim"
)

// TestCreate: a cluster is created, and serves.
func TestCreate(t *testing.T) {
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		r := w.Must(t, 0, "create", "basic", "--version", "v8.1.0", "--storage", "1Gi")
		t.Log(r.Err)
	})
}

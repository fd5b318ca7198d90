package wire

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestLeaderOutOfReach: PD's leader cannot be reached from here while PD serves everybody else. A rollout of PD is due,
// and no member of PD is restarted, because PD has a leader although the command cannot ask that leader.
func TestLeaderOutOfReach(t *testing.T) {
	Run(t, sim.Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Must(t, 0, "create", "basic", "--version", "v8.1.0", "--storage", "1Gi", "--tidb", "1")
		begun, end := context.WithTimeout(t.Context(), time.Second) // so that a rollout is due
		w.Command(begun, "upgrade", "basic", "v8.1.1", "--yes")
		end()
		w.Cut(topology.PD, w.leader())
		before, restarts := len(w.requests), w.Model.Soft.Restarts
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r := w.Command(ctx, "sync", "basic", "--yes")
		if r.Code == 0 {
			t.Error("the rollout has ended without PD's leader")
		}
		for _, q := range w.requests[before:] {
			if strings.HasPrefix(q.What, "DELETE ") && strings.Contains(q.What, "/pods/") {
				t.Errorf("a pod was deleted: %v", q)
			}
		}
		if n := w.Model.Soft.Restarts - restarts; n > 0 {
			t.Errorf("%d members that served were restarted", n)
		}
		w.wantUnbroken(t)
		w.Mend()
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantUnbroken(t)
	})
}

// leader returns the ordinal of PD's leader.
func (w *World) leader() int {
	for _, m := range w.Model.PDMembers() {
		if m.ID == w.Model.PDLeader() {
			return m.Ordinal
		}
	}
	return -1
}

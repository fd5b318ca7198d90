package wire

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// evicting kills a command while region leaders leave a store.
func (w *World) evicting(t *testing.T) {
	t.Helper()
	w.said(w.Killed(t.Context(), func() bool { return len(w.Model.Evicting()) > 0 }, "restart", "basic", "tikv", "--yes"))
	if len(w.Model.Evicting()) == 0 {
		t.Fatal("no eviction was begun")
	}
}

// TestDeletedDuringAnEviction: a run was killed in the middle of an eviction, and the cluster is deleted with its data
// kept. PD keeps its schedulers in its data, so the eviction is ended before PD goes.
func TestDeletedDuringAnEviction(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.evicting(t)
		w.Model.AskDeletion()
		w.Must(t, 0, "delete", "basic", "--yes")
		w.wantNoEvictions(t)
	})
}

// TestCreatedAfterAnEviction: after the same, the TidbCluster is deleted with kubectl, which ends nothing in PD. The
// record of the eviction stays, and the cluster that is created again on the data ends the eviction.
func TestCreatedAfterAnEviction(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.evicting(t)
		w.deleteCluster()
		w.Sleep(time.Minute)
		w.created(t)
		w.wantNoEvictions(t)
	})
}

// wantNoEvictions fails the test where PD keeps leaders off a store.
func (w *World) wantNoEvictions(t *testing.T) {
	t.Helper()
	if left := w.Model.Evicting(); len(left) > 0 {
		t.Errorf("PD keeps leaders off stores %v", left)
	}
}

// TestPausedDuringAnEviction: a run was killed in the middle of an eviction, and the cluster is paused. While no
// process goes on, pause, status and plan say which store leads no regions, and how it may lead them again.
func TestPausedDuringAnEviction(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.evicting(t)
		for _, command := range [][]string{{"pause", "basic", "--yes"}, {"status", "basic"}, {"plan", "basic"}} {
			r := w.said(w.Command(t.Context(), command...))
			wantText(t, r.Out+r.Err, "region leaders off store 3")
			wantText(t, r.Out+r.Err, "evict-leader basic basic-tikv-2 --stop")
		}
		wantText(t, w.Must(t, 6, "plan", "basic").Err, "end the pause: kubectl tidb resume basic -n db")
		w.Must(t, 0, "evict-leader", "basic", "basic-tikv-2", "--stop")
		w.wantNoEvictions(t)
	})
}

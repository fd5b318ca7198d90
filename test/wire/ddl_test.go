package wire

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestDDLPauseOfAnother: tidb-operator has paused the DDL statements of users for an upgrade, and was removed before it
// ended the pause. The next run ends the pause, since no table could be changed any more.
func TestDDLPauseOfAnother(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.Model.PauseDDL()
		w.changeCluster(func(u *unstructured.Unstructured) {
			u.SetAnnotations(topology.DDLPause{Since: w.Model.Now(), From: "v8.0.0", To: "v8.1.0"}.Annotations())
		})
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantDDL(t)
	})
}

// TestDDLPauseOfAKilledRun: a run was killed while DDL statements were paused for its upgrade. The next one ends the
// pause.
func TestDDLPauseOfAKilledRun(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.pausedByAKilledRun(t)
		w.Must(t, 0, "sync", "basic", "--yes")
		w.wantDDL(t)
	})
}

// pausedByAKilledRun kills a run while DDL statements are paused.
func (w *World) pausedByAKilledRun(t *testing.T) {
	t.Helper()
	paused := func() bool { is, _ := w.Model.DDLPaused(); return is }
	w.said(w.Killed(t.Context(), paused, "upgrade", "basic", "v8.1.1", "--yes"))
	if !paused() {
		t.Fatal("DDL statements were not paused")
	}
}

// wantDDL fails the test where TiDB has paused the DDL statements of users.
func (w *World) wantDDL(t *testing.T) {
	t.Helper()
	if paused, _ := w.Model.DDLPaused(); paused {
		t.Error("no table can be changed any more")
	}
}

// TestDeletedDuringADDLPause: the same run was killed, and the cluster is deleted with its data kept. TiDB keeps the
// pause in PD's data, so the pause is ended before the servers go.
func TestDeletedDuringADDLPause(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		w.pausedByAKilledRun(t)
		w.Model.AskDeletion()
		w.Must(t, 0, "delete", "basic", "--yes")
		w.wantDDL(t)
	})
}

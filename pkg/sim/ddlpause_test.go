package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestDDLPauseOfOperator: a tidb-operator goes after it has paused DDL. The pause lasts as long as the upgrade of TiDB and
// no longer, also where only the removal of the record was left, or a person is needed.
func TestDDLPauseOfOperator(t *testing.T) {
	const step = "let DDL statements run again"
	begun := func() *Model {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.pauseDDL()
		return w
	}
	t.Run("after the upgrade", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.Upgrade("v2", topology.TiDB)
		w.OnStep("restart basic-tidb-1", w.pauseDDL)
		w.OnStep("restart basic-tidb-0", func() {
			if !w.ddl.paused {
				t.Error("DDL statements run while the servers have several versions")
			}
		})
		fine(t, w)
		inOrder(t, w, "restart basic-tidb-0", step)
	})
	t.Run("without an upgrade", func(t *testing.T) {
		w := begun()
		fine(t, w)
		if !inTranscript(w, step) {
			t.Error(w.Transcript())
		}
	})
	t.Run("only the record is left", func(t *testing.T) {
		w := begun()
		w.ddl.paused = false
		fine(t, w)
		if w.ddl.recorded {
			t.Error(w.Transcript())
		}
	})
	t.Run("the new version does not start", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		w.Upgrade("v2-noimage", topology.TiDB)
		w.OnStep("restart basic-tidb-1", w.pauseDDL)
		if _, err := w.Drive(time.Hour); err != nil || w.ddl.paused || w.ddl.recorded || !inTranscript(w, step) {
			t.Errorf("paused %t, %v\n%s", w.ddl.paused, err, w.Transcript())
		}
	})
}

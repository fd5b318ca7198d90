package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestDDLPauseOfOperator: a tidb-operator goes after it has paused DDL. The pause lasts as long as the upgrade of TiDB
// and no longer, also where only the removal of the record was left, or a person is needed.
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

// TestDDLPauseBegins: an upgrade of TiDB pauses DDL before its first server is restarted, as long as the upgrade lasts
// and no longer; whatever TiDB answers, the upgrade goes on.
func TestDDLPauseBegins(t *testing.T) {
	const begin, end = "pause DDL statements for the upgrade from v8.1.0 to v8.1.2, by basic-tidb-0", "let DDL statements run again"
	begun := func(d ddlOptions) *Model {
		d.Asked = true
		return settled(Options{Seed: 3, PD: 3, TiKV: 3, TiDB: 2, DDL: d})
	}
	for name, tt := range map[string]struct {
		ddl    ddlOptions
		paused bool // during the rollout
	}{
		"it pauses":                  {ddlOptions{}, true},
		"it refuses":                 {ddlOptions{Refuses: 1}, false},
		"it does not know of that":   {ddlOptions{Old: true}, false},
		"it pauses after an error":   {ddlOptions{Slow: 1}, true},
		"its answer does not arrive": {ddlOptions{Silent: 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := begun(tt.ddl)
			w.Upgrade("v2")
			for _, step := range []string{"restart basic-tidb-1", "restart basic-tidb-0"} {
				w.OnStep(step, func() {
					if w.ddl.recorded != tt.paused || w.ddl.paused && !tt.paused {
						t.Errorf("before %s: %+v", step, w.ddl)
					}
				})
			}
			fine(t, w)
			inOrder(t, w, "restart basic-tikv-0", begin, "restart basic-tidb-1", "restart basic-tidb-0")
			if n := strings.Count(w.Transcript(), begin); n != 1 {
				t.Errorf("TiDB was asked %d times\n%s", n, w.Transcript())
			}
			if tt.paused {
				inOrder(t, w, "restart basic-tidb-0", end)
			} else {
				notInTranscript(t, w, end)
			}
		})
	}
	t.Run("interrupted in the middle", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Upgrade("v2", topology.TiDB)
		w.OnStep("restart basic-tidb-1", w.Stop)
		if _, err := w.Drive(time.Hour); err == nil || w.ddl != (ddlPause{}) {
			t.Fatalf("%+v, %v\n%s", w.ddl, err, w.Transcript())
		}
		fine(t, w)
		inOrder(t, w, begin, "restart basic-tidb-1", end, begin, "restart basic-tidb-0", end)
	})
	t.Run("killed in the middle", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Upgrade("v2", topology.TiDB)
		w.OnStep("restart basic-tidb-1", w.kill)
		if _, _ = w.Drive(time.Hour); !w.ddl.paused {
			t.Fatal(w.Transcript())
		}
		fine(t, w)
		inOrder(t, w, begin, "restart basic-tidb-0", end)
	})
	t.Run("killed between the record and the request", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Upgrade("v2", topology.TiDB)
		w.OnStep("pause DDL", func() { w.cut = true })
		if _, _ = w.Drive(time.Hour); w.ddl != (ddlPause{recorded: true}) {
			t.Fatalf("%+v\n%s", w.ddl, w.Transcript())
		}
		fine(t, w)
		inOrder(t, w, "restart basic-tidb-0", end)
	})
	t.Run("the new version does not start", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Upgrade("v2-noimage", topology.TiDB)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked || w.ddl != (ddlPause{}) {
			t.Fatalf("%s: %+v, %v\n%s", p.Outcome, w.ddl, err, w.Transcript())
		}
		inOrder(t, w, begin, "restart basic-tidb-1", end)
		w.Upgrade("v3", topology.TiDB)
		fine(t, w)
		inOrder(t, w, end, "pause DDL statements for the upgrade from v8.1.0 to v8.5.0", "restart basic-tidb-0", end)
	})
	t.Run("a canary", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Canary(topology.TiDB, 1)
		w.Upgrade("v2", topology.TiDB)
		_, _ = w.Drive(time.Hour)
		notInTranscript(t, w, begin)
		w.Promote()
		fine(t, w)
		inOrder(t, w, "restart basic-tidb-1", begin, "restart basic-tidb-0", end)
	})
	t.Run("a downgrade", func(t *testing.T) {
		w := begun(ddlOptions{})
		w.Upgrade("v3", topology.TiDB)
		fine(t, w)
		at := len(w.Transcript())
		w.Upgrade("v2", topology.TiDB)
		fine(t, w)
		if again := w.Transcript()[at:]; strings.Contains(again, "DDL") || !strings.Contains(again, "restart basic-tidb-0") {
			t.Error(again)
		}
	})
}

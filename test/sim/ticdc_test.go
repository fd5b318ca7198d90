package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// withTiCDC returns a cluster with captures whose changefeeds send tables.
func withTiCDC(o Options) *Model {
	o.PD, o.TiKV, o.TiDB = 3, 3, 1
	w := settled(o)
	w.Pass(60)
	return w
}

func TestTiCDC(t *testing.T) {
	three := Options{TiCDC: 3, Feeds: 9}
	t.Run("captures restart without tables, one by one, after all others", func(t *testing.T) {
		w := withTiCDC(three)
		w.Upgrade("v2")
		fine(t, w)
		inOrder(t, w, "restart basic-tidb-0", "move tables off basic-ticdc-2", "restart basic-ticdc-2", "restart basic-ticdc-1",
			"restart basic-ticdc-0")
		if w.Soft.TablesLost > 0 || !strings.Contains(w.Transcript(), "have another capture own TiCDC") || strings.Contains(w.Transcript(), "without") {
			t.Error(w.Transcript())
		}
	})
	t.Run("as they do before they leave", func(t *testing.T) {
		w := withTiCDC(three)
		w.Scale(topology.TiCDC, 1)
		fine(t, w)
		if w.Soft.TablesLost > 0 || !before(w, "move tables off basic-ticdc-2", "scale TiCDC from 3 to 2") {
			t.Error(w.Transcript())
		}
		w.Scale(topology.TiCDC, 3)
		fine(t, w)
	})
	t.Run("the last one stays while changefeeds run", func(t *testing.T) {
		w := withTiCDC(three)
		w.Scale(topology.TiCDC, 0)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked || !w.serves(ticdc, 0) || w.pods[ticdc][1] != nil {
			t.Errorf("%v %s\n%s", err, gates(p), w.Transcript())
		}
		w.changeFeeds(0)
		fine(t, w)
	})
	t.Run("unless the user lets them stop", func(t *testing.T) {
		w := withTiCDC(three)
		w.Eviction.StopFeeds = true
		w.Scale(topology.TiCDC, 0)
		fine(t, w)
	})
	t.Run("tidb-B14 tables that do not leave have their time, and then it says so", func(t *testing.T) {
		w := withTiCDC(three)
		w.pd.idle = never
		w.Upgrade("v2", topology.TiCDC)
		begun := w.t
		w.OnStep("restart basic-ticdc-2", func() {
			if waited := w.t - begun; waited < 600 {
				t.Errorf("it was restarted after %d s", waited)
			}
		})
		fine(t, w)
		if !strings.Contains(w.Transcript(), "restart basic-ticdc-2 without: all tables moved to other captures (3 tables left after 10m0s)") {
			t.Error(w.Transcript())
		}
	})
	t.Run("a version that cannot drain is restarted at once, and that is said", func(t *testing.T) {
		w := withTiCDC(Options{TiCDC: 2, Feeds: 4, CannotDrain: true})
		w.Upgrade("v2", topology.TiCDC)
		fine(t, w)
		if !strings.Contains(w.Transcript(), "cannot drain a capture") || w.Soft.TablesLost == 0 {
			t.Error(w.Transcript())
		}
	})
	t.Run("an engine that is killed while tables leave", func(t *testing.T) {
		w := withTiCDC(three)
		w.Upgrade("v2", topology.TiCDC)
		w.OnStep("move tables off basic-ticdc-2", w.kill)
		_, _ = w.Drive(time.Hour)
		fine(t, w)
		if w.Soft.TablesLost > 0 {
			t.Error(w.Transcript())
		}
	})
	t.Run("tidb-S17 an old drain leaves no time behind", func(t *testing.T) {
		w := withTiCDC(three)
		w.Upgrade("v2", topology.TiCDC)
		w.OnStep("move tables off basic-ticdc-2", w.kill)
		_, _ = w.Drive(time.Hour)
		w.Pass(7200)
		fine(t, w)
		if w.Soft.TablesLost > 0 || strings.Contains(w.Transcript(), "without") {
			t.Error(w.Transcript())
		}
	})
	t.Run("a rollout that is called off", func(t *testing.T) {
		w := withTiCDC(three)
		w.Upgrade("v2", topology.TiCDC)
		w.OnStep("move tables off basic-ticdc-2", func() { w.Upgrade("v1", topology.TiCDC) })
		fine(t, w)
		if len(w.cdc.drains) > 0 || strings.Contains(w.Transcript(), "restart basic-ticdc") {
			t.Error(w.Transcript())
		}
	})
	t.Run("all but TiCDC runs while it is suspended", func(t *testing.T) {
		w := withTiCDC(three)
		w.Suspend(topology.TiCDC)
		fine(t, w)
		if w.there(ticdc) || !w.serves(tidb, 0) {
			t.Error(w.Transcript())
		}
		w.Suspend()
		fine(t, w)
	})
	t.Run("a template that fails stops at the first one", func(t *testing.T) {
		w := withTiCDC(three)
		w.Upgrade("v2-noimage", topology.TiCDC)
		_, _ = w.Drive(time.Hour)
		if !w.serves(ticdc, 0) || !w.serves(ticdc, 1) {
			t.Error(w.Transcript())
		}
		w.Upgrade("v3", topology.TiCDC)
		fine(t, w)
	})
}

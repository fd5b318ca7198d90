package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func TestTiProxy(t *testing.T) {
	three := Options{PD: 3, TiKV: 3, TiDB: 2, TiProxy: 3, Drain: 120}
	t.Run("tidb-B8 it restarts one by one, after PD and before TiKV", func(t *testing.T) {
		w := settled(three)
		w.Upgrade("v2")
		fine(t, w)
		inOrder(t, w, "restart basic-pd-0", "restart basic-tiproxy-2", "restart basic-tiproxy-1", "restart basic-tiproxy-0",
			"restart basic-tikv-2")
	})
	t.Run("the next one waits until the connections of the last one have ended", func(t *testing.T) {
		w := settled(three)
		w.Upgrade("v2", topology.TiProxy)
		begun := map[int]int64{}
		for i := range 3 {
			w.OnStep("restart "+w.names[tiproxy][i], func() { begun[i] = w.t })
		}
		fine(t, w)
		for i := range 2 {
			if took := begun[i] - begun[i+1]; took < 120 {
				t.Errorf("%s was restarted %d s after the one before it", w.names[tiproxy][i], took)
			}
		}
	})
	t.Run("all but TiProxy runs while it is suspended", func(t *testing.T) {
		w := settled(three)
		w.Suspend(topology.TiProxy)
		fine(t, w)
		if w.there(tiproxy) || !w.serves(tidb, 0) {
			t.Error(w.Transcript())
		}
		w.Suspend()
		fine(t, w)
		if !w.serves(tiproxy, 2) {
			t.Error(w.Transcript())
		}
	})
	t.Run("a template that fails stops at the first one", func(t *testing.T) {
		w := settled(three)
		w.Upgrade("v2-noimage", topology.TiProxy)
		_, _ = w.Drive(time.Hour)
		if !w.serves(tiproxy, 0) || !w.serves(tiproxy, 1) {
			t.Error(w.Transcript())
		}
		w.Scale(topology.TiProxy, 4)
		w.Upgrade("v3", topology.TiProxy)
		fine(t, w)
	})
	t.Run("down to none and back", func(t *testing.T) {
		w := settled(three)
		w.Scale(topology.TiProxy, 0)
		fine(t, w)
		if n := strings.Count(w.Transcript(), "scale TiProxy from"); n < 3 {
			t.Errorf("%d steps\n%s", n, w.Transcript())
		}
		w.Scale(topology.TiProxy, 2)
		fine(t, w)
	})
}

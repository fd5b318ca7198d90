package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// withPump returns a cluster with Pumps.
func withPump(o Options) *Model {
	o.PD, o.TiKV, o.TiDB = 3, 3, 1
	o.Ordered[pump] = true
	return settled(o)
}

func TestPump(t *testing.T) {
	t.Run("Pumps restart after TiKV and before TiDB, one by one", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		w.Upgrade("v2")
		fine(t, w)
		for _, order := range [][2]string{
			{"restart basic-tikv-0", "restart basic-pump-1"},
			{"restart basic-pump-1", "restart basic-pump-0"},
			{"restart basic-pump-0", "restart basic-tidb-0"},
		} {
			if !before(w, order[0], order[1]) {
				t.Errorf("not in this order: %s\n%s", order, w.Transcript())
			}
		}
		notInTranscript(t, w, "close Pump")
	})
	for name, again := range map[string]bool{"a Pump is closed before it leaves": false, "tidb-S8 also one that the kubelet starts again": true} {
		t.Run(name, func(t *testing.T) {
			w := withPump(Options{Pump: 3, Binlog: true, PumpAgain: again})
			w.Scale(topology.Pump, 1)
			fine(t, w)
			if !before(w, "close Pump basic-pump-2", "scale Pump from 3 to 2") || !before(w, "close Pump basic-pump-1", "scale Pump from 2 to 1") {
				t.Error(w.Transcript())
			}
			w.Scale(topology.Pump, 3)
			fine(t, w)
			if !inTranscript(w, "delete left-over claim data-basic-pump-2") || !w.serves(pump, 2) {
				t.Error(w.Transcript())
			}
		})
	}
	t.Run("the last one stays while TiDB writes", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		w.Scale(topology.Pump, 0)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked || !w.serves(pump, 0) || w.pods[pump][1] != nil {
			t.Errorf("%v %s\n%s", err, gates(p), w.Transcript())
		}
	})
	t.Run("and leaves where TiDB does not", func(t *testing.T) {
		w := withPump(Options{Pump: 2})
		w.Scale(topology.Pump, 0)
		fine(t, w)
		if w.pods[pump][0] != nil || !w.serves(tidb, 0) {
			t.Error(w.Transcript())
		}
	})
	t.Run("a scale-in that is called off", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		w.Scale(topology.Pump, 1)
		w.OnStep("mark data-basic-pump-1", func() { w.Scale(topology.Pump, 2) })
		fine(t, w)
		if !w.serves(pump, 1) || w.pumps[1].state != state.PumpOnline {
			t.Error(w.Transcript())
		}
	})
	t.Run("a drainer that reads nothing", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		w.pd.idle = w.t + 1200
		w.Scale(topology.Pump, 1)
		begun := w.t
		w.OnStep("scale Pump from 2 to 1", func() {
			if waited := w.t - begun; waited < 1200 {
				t.Errorf("it left after %d s", waited)
			}
		})
		fine(t, w)
	})
	t.Run("an engine that is killed while it closes", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		w.Scale(topology.Pump, 1)
		w.OnStep("close Pump basic-pump-1", w.kill)
		_, _ = w.Drive(time.Hour)
		fine(t, w)
	})
	t.Run("replicas that a person lowers", func(t *testing.T) {
		w := withPump(Options{Pump: 2, Binlog: true})
		spec := w.sets[pump].spec
		spec.replicas = 1
		w.change(&w.sets[pump], spec)
		w.Pass(60)
		w.Scale(topology.Pump, 1)
		fine(t, w)
		if !before(w, "scale Pump from 1 to 2", "close Pump basic-pump-1") {
			t.Error(w.Transcript())
		}
	})
	t.Run("all but Pump runs while it is suspended", func(t *testing.T) {
		w := withPump(Options{Pump: 2})
		w.Suspend(topology.Pump)
		fine(t, w)
		if w.there(pump) || !w.serves(tidb, 0) {
			t.Error(w.Transcript())
		}
		w.Suspend()
		fine(t, w)
	})
	t.Run("a template that fails stops at the first one", func(t *testing.T) {
		w := withPump(Options{Pump: 3, Binlog: true})
		w.Upgrade("v2-noimage", topology.Pump)
		_, _ = w.Drive(time.Hour)
		if !w.serves(pump, 0) || !w.serves(pump, 1) {
			t.Error(w.Transcript())
		}
		w.Upgrade("v3", topology.Pump)
		fine(t, w)
	})
}

package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func withTiFlash(o Options) *Model {
	o.PD, o.TiKV, o.TiDB = 3, 3, 1
	return settled(o)
}

// learnersOff reports whether each table has as many replicas in TiFlash as it asks for, and none on the
// store of an ordinal.
func learnersOff(w *Model, i int) bool {
	s := w.storeOf(tiflash, i)
	return !w.learnersMissing() && (s == nil || s.regions == 0)
}

// Stores of TiFlash join, get replicas, and leave one by one with their claims marked.
func TestTiFlashComesAndGoes(t *testing.T) {
	w := withTiFlash(Options{TiFlash: 3, Learners: 2})
	if w.learnersMissing() {
		w.Pass(300)
	}
	if w.learnersMissing() || w.storeOf(tiflash, 2) == nil {
		t.Fatalf("no replicas\n%s", w.Transcript())
	}
	w.Scale(topology.TiFlash, 2)
	fine(t, w)
	if c := w.claims[tiflash][2]; c == nil || !c.marked || !learnersOff(w, 2) {
		t.Errorf("%+v\n%s", c, w.Transcript())
	}
	w.Scale(topology.TiFlash, 4)
	fine(t, w)
}

// A table that asks for as many replicas as there are stores keeps the store, and the wait names the
// table.
func TestTiFlashIsNeeded(t *testing.T) {
	w := withTiFlash(Options{TiFlash: 2, Learners: 2})
	w.Pass(300)
	w.Scale(topology.TiFlash, 1)
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Blocked || !inTranscript(w, "table a.b asks for 2 TiFlash replicas, and there is only 1 other TiFlash store") {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	if s := w.storeOf(tiflash, 1); s == nil || s.state != state.StoreUp {
		t.Errorf("the store was taken offline\n%s", w.Transcript())
	}
	w.askTables(1)
	fine(t, w)
}

// TiFlash is replaced after PD and before TiKV.
func TestTiFlashIsUpgradedBeforeTiKV(t *testing.T) {
	w := withTiFlash(Options{TiFlash: 2, Learners: 1})
	w.Upgrade("v2")
	w.OnStep("restart basic-tiflash-1", func() {
		if w.pods[pd][0].revision != "v2" || w.pods[tikv][2].revision == "v2" {
			t.Errorf("not between PD and TiKV\n%s", w.Transcript())
		}
	})
	w.OnStep("restart basic-tikv-2", func() {
		if w.pods[tiflash][0].revision != "v2" {
			t.Errorf("before TiFlash\n%s", w.Transcript())
		}
	})
	fine(t, w)
}

// TiKV that fails with a template is repaired with another one, though TiFlash, whose rollout comes
// first, waits for TiKV.
func TestTiKVIsRepairedBeforeTiFlash(t *testing.T) {
	w := withTiFlash(Options{TiFlash: 2, Learners: 1})
	w.Upgrade("v2-crashing", topology.TiKV, topology.TiFlash)
	_, _ = w.Drive(time.Hour)
	w.Upgrade("v3", topology.TiKV, topology.TiFlash)
	fine(t, w)
}

// A store that is lost is replaced, and a replica of a table is made again on the new store.
func TestTiFlashIsLost(t *testing.T) {
	w := withTiFlash(Options{TiFlash: 2, Learners: 2, Failover: true})
	w.Pass(300)
	w.lose(w.pods[tiflash][1], 3*3600)
	w.Pass(downAfter + 400)
	_, _ = w.Drive(time.Hour)
	w.Pass(300)
	if w.storeOf(tiflash, 2) == nil || len(w.failures[tiflash]) != 1 || w.learnersMissing() {
		t.Errorf("not replaced\n%s", w.Transcript())
	}
	w.Intent.Recover = true
	w.Pass(3 * 3600)
	fine(t, w)
}

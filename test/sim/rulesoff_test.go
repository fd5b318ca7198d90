package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A PD with disabled placement rules refuses stores of TiFlash: they are enabled before its pods are made.
func TestRulesAreEnabledForTiFlash(t *testing.T) {
	w := New(Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 1, Learners: 1, RulesOff: true})
	w.Trace()
	made := false
	w.OnStep("create StatefulSet basic-tiflash", func() { made = w.flash.off })
	fine(t, w)
	if made || w.flash.off || w.flash.enabled.IsZero() || w.storeOf(tiflash, 0) == nil {
		t.Errorf("made too early: %t, %+v\n%s", made, w.flash, w.Transcript())
	}
}

// A person who disables placement rules afterwards is asked to enable them, and nothing goes on for ever.
func TestRulesArePersonsAfterwards(t *testing.T) {
	w := New(Options{PD: 1, TiKV: 3, TiDB: 1, TiFlash: 1, RulesOff: true})
	w.Trace()
	w.OnStep("create StatefulSet basic-tiflash", w.disableRules)
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Blocked || !w.flash.off || !inTranscript(w, "they were enabled for TiFlash, and disabled since") {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	for k, n := range map[topology.Kind]int{topology.PD: 1, topology.TiKV: 3, topology.TiDB: 1} {
		for i := range n {
			if !w.serves(kindOf(k), i) {
				t.Errorf("%s %d does not serve\n%s", k, i, w.Transcript())
			}
		}
	}
	w.obey(p)
	fine(t, w)
}

package sim

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// rulesOff is whether PD places copies by its placement rules.
type rulesOff struct {
	off     bool      // it does not, and refuses stores of TiFlash
	enabled time.Time // when an engine has enabled them, in the ledger
}

// drawRulesOff gives some simulated clusters with TiFlash a PD whose placement rules are disabled. In some
// of these clusters a person disables the rules. That is drawn separately, so that the other runs stay as
// they are.
func drawRulesOff(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 13))
	if o.TiFlash > 0 && o.Copies == nil {
		o.RulesOff, o.Faults.Rules = rng.IntN(3) == 0, pick(rng, 0, 1./60)
	}
}

// enableRules is what PD does, and the record that follows.
func (w *Model) enableRules() error {
	if !w.view.snap.RulesEnabled.IsZero() {
		w.broke("theirs", "placement rules are enabled again, which a person has disabled")
	}
	switch r := &w.flash; {
	case !w.serving() || !w.reached():
		return errNoPD
	case !r.off:
		return nil
	case !r.enabled.IsZero():
		return errConflict
	case len(w.stores) == 0:
		return errors.New("TiKV cluster not bootstrapped")
	}
	w.flash.off = false
	if w.endsHalfWay() {
		return errHalfWay
	}
	w.flash.enabled = w.Now()
	return nil
}

// disableRules is a person who disables PD's placement rules. PD refuses that while it has a store of
// TiFlash.
func (w *Model) disableRules() {
	joined := slices.ContainsFunc(w.stores, func(s *store) bool { return s.k.learns() && s.state != state.StoreTombstone })
	if w.flash.off || joined || len(w.stores) == 0 || !w.serving() {
		return
	}
	w.note("fault: a person disables PD's placement rules")
	w.flash.off = true
}

// enableRulesByHand is a person who does what a gate asks for.
func (w *Model) enableRulesByHand(g plan.Gate) {
	if g.Blocked && g.Reason == plan.PlacementRulesEnabled && (!w.chaos || w.rng.IntN(4) == 0) {
		w.note("user: enable PD's placement rules")
		w.flash.off = false
	}
}

package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// drawEviction draws what runs ask for besides the cluster's spec, separately, so that the other runs stay as they are.
func drawEviction(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 14))
	o.Eviction.OnTimeout = pick(rng, plan.Default, plan.Default, plan.Default, plan.Proceed)
	o.Eviction.MaxMoves = pick(rng, 0, 0, 1, 5)
}

// leaderLimit is how many leaders PD moves at a time. It ends by itself, whatever becomes of who asked for it.
type leaderLimit struct {
	most  int
	until int64
}

func (w *Model) limitLeaderMoves(s step.LimitLeaderMoves) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	w.pd.limit = leaderLimit{s.Limit, w.t + int64(step.LimitLasts/time.Second)}
	if w.chance(w.Faults.Fail) {
		return errHalfWay
	}
	return nil
}

// holdRegions has PD move no replicas for balance for a while.
func (w *Model) holdRegions() error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	w.pd.held = w.t + int64(step.LimitLasts/time.Second)
	return nil
}

// HoldRegions does that for so many seconds.
func (w *Model) HoldRegions(seconds int64) { w.pd.held = w.t + seconds }

// movesPerTick is how many leaders PD moves off a store in a second.
func (w *Model) movesPerTick() int {
	if w.t < w.pd.limit.until {
		return w.pd.limit.most
	}
	return perTick
}

// judgeLimit checks that no leaders begin to leave faster than the user has asked for.
func (w *Model) judgeLimit(s step.EvictLeaders) {
	if n := w.Eviction.MaxMoves; n > 0 && !w.nap.woke && w.evicts[s.StoreID] != nil && w.movesPerTick() > n {
		w.broke("limits", "%s: PD moves %d leaders at a time, %d were asked for", s, w.movesPerTick(), n)
	}
}

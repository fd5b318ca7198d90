package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// limitAgain is the time after which a run sends the limit to PD again. It is much shorter than LimitLasts, since other steps of a
// turn may take a minute, and PD may have no leader for some seconds.
const limitAgain = 30 * time.Second

// holdRegions returns the step that has PD move no regions for balance while stores are to restart together. The first
// store restarts meanwhile, so that PD has time to end the moves that it has begun. No restart comes while a user waits for
// balance, which PD would never reach without moves, or while BR restores data.
func holdRegions(policy Policy, s state.Snapshot, decisions []decision, gates []Gate) []step.Step {
	ago := s.At.Sub(policy.Held)
	later := func(g Gate) bool { return g.Reason == RegionsBalanced || g.Reason == RestoreEnded }
	if ago < limitAgain || !s.PD.Serving() || slices.ContainsFunc(gates, later) || !slices.ContainsFunc(decisions, decision.restartsTogether) {
		return nil
	}
	return []step.Step{step.HoldRegions{Again: ago < step.LimitLasts}}
}

// limitMoves returns the step that has PD keep the limit of this run while leaders leave stores or come back. It comes
// before other steps: if it fails, no eviction begins without the limit.
func limitMoves(policy Policy, s state.Snapshot, steps []step.Step) []step.Step {
	n, ago := policy.Eviction.MaxMoves, s.At.Sub(policy.Limited)
	evicts := func(s step.Step) bool { _, is := s.(step.EvictLeaders); return is }
	if n == 0 || ago < limitAgain || !s.PD.Serving() || len(s.Evictions) == 0 && !slices.ContainsFunc(steps, evicts) {
		return nil
	}
	return []step.Step{step.LimitLeaderMoves{Limit: n, Again: ago < step.LimitLasts}}
}

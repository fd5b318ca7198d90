package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// LimitLeaderMoves has PD move at most so many region leaders at a time, for LimitLasts. Then PD goes back to its own
// limit by itself. So a run that is killed leaves nothing behind, and what a person has set stays.
type LimitLeaderMoves struct {
	Limit int
	// Again: this process has asked for it before.
	Again bool
}

const (
	// LimitLasts is how long PD keeps a limit.
	LimitLasts = 2 * time.Minute
	// limitAgain is how often PD is asked for it again. It is much shorter, since other steps of a turn may take a
	// minute, and PD may have no leader for some seconds.
	limitAgain = 30 * time.Second
)

func (LimitLeaderMoves) Action() string                    { return "LimitLeaderMoves" }
func (s LimitLeaderMoves) Target() (topology.Kind, string) { return topology.TiKV, "" }
func (LimitLeaderMoves) Disruptive() bool                  { return false }
func (s LimitLeaderMoves) Quiet() bool                     { return s.Again }

func (s LimitLeaderMoves) String() string {
	return "have PD move at most " + remedy.Count(s.Limit, "region leader", "region leaders") + " at a time"
}

// limitMoves returns the step that has PD keep the limit of this run while leaders leave stores or come back. It comes
// before other steps: if it fails, no eviction begins without the limit.
func limitMoves(policy Policy, s state.Snapshot, steps []Step) []Step {
	n, ago := policy.Eviction.MaxMoves, s.At.Sub(policy.Limited)
	evicts := func(s Step) bool { _, is := s.(EvictLeaders); return is }
	if n == 0 || ago < limitAgain || !s.PD.Serving() || len(s.Evictions) == 0 && !slices.ContainsFunc(steps, evicts) {
		return nil
	}
	return []Step{LimitLeaderMoves{Limit: n, Again: ago < LimitLasts}}
}

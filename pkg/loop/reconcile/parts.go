package reconcile

import (
	"context"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Parts is the right to take members of the database away, which all its parts share.
type Parts interface {
	// Held reports whether this process has the right, as far as it knows.
	Held() bool
	// Note notes members that are taken away now, and Away returns all that were noted since the right was taken.
	Note([]plan.Away)
	Away() []plan.Away
	// Take takes or renews the right. had is true if this process had the right before, and false where another part has
	// the right.
	Take(ctx context.Context) (had bool, err error)
	// Release gives the right up.
	Release(ctx context.Context)
	// Guard returns a context that ends before another part can have the right.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}

// lockParts returns the steps that may be taken now. Before steps that take members away it takes the right for that.
// The next turn decides on such steps again: what was observed before may have changed while another part had the right.
//
// It gives the right up when the members that were taken away serve again, or PD calls them down. Another part need not
// wait then for a run that waits for something else. A run that ends before that keeps the right until PD ends the lock.
// PD calls a store Up for 20 seconds after the store has ended, and another part would not see that it is down.
func (e Engine) lockParts(ctx context.Context, p plan.Plan, s state.Snapshot) ([]step.Step, error) {
	away := func(a plan.Away) bool { return plan.StillAway(s, a) }
	switch {
	case e.Parts == nil:
		return p.Steps, nil
	case p.NeedsLock():
	case !e.Parts.Held():
		return p.Steps, nil
	case !slices.ContainsFunc(e.Parts.Away(), away):
		e.Parts.Release(ctx)
		return p.Steps, nil
	}
	had, err := e.Parts.Take(ctx)
	switch {
	case !p.NeedsLock():
		return p.Steps, nil // a renewal that fails is repeated before the next such step
	case !had:
		return p.WithoutLock(), err
	}
	e.Parts.Note(p.TakenAway(s))
	return p.Steps, nil
}

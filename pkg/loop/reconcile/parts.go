package reconcile

import (
	"context"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Parts is the right to take members of the database away, which all its parts share.
type Parts interface {
	// Held returns since when this process has the right; zero without it.
	Held() time.Time
	// Take takes the right, or renews it. had is true if this process had it before. It is false as well where another part
	// has the right.
	Take(ctx context.Context) (had bool, err error)
	// Release gives the right up.
	Release(ctx context.Context)
	// Guard returns a context that ends before another part can have the right.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}

// lockParts returns the steps that may be taken now. Before steps that take members away it takes the right for that.
// The next turn decides on such steps again: what was observed before may have changed while another part had the right.
//
// It gives the right up when the members that were taken away serve again, so that another part need not wait for a run
// that waits itself. A run that ends before keeps the right until PD ends it. PD calls a store Up for 20 seconds after the
// store has ended, and another part would not see that it is down.
func (e Engine) lockParts(ctx context.Context, p plan.Plan, s state.Snapshot) ([]step.Step, error) {
	switch {
	case e.Parts == nil:
		return p.Steps, nil
	case p.NeedsLock():
	case e.Parts.Held().IsZero():
		return p.Steps, nil
	case !plan.TakenAway(s, e.Parts.Held()):
		e.Parts.Release(ctx)
		return p.Steps, nil
	}
	had, err := e.Parts.Take(ctx)
	if had || !p.NeedsLock() {
		return p.Steps, nil // a renewal that fails is repeated before the next such step
	}
	return slices.DeleteFunc(slices.Clone(p.Steps), plan.TakesAway), err
}

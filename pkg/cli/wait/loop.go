package wait

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Sight is what one look at a cluster has shown.
type Sight struct {
	Wanted   desired.State
	Snapshot state.Snapshot
	Plan     plan.Plan
	// Live: no copy was read, which may show an old state.
	Live bool
	// Unreadable is why the spec cannot be read, nil where it can. Then only a person can go on.
	Unreadable error
}

// Loop is a wait: it looks at a cluster until a goal is reached, or until waiting does not help any more.
type Loop struct {
	Goal Goal
	// Look looks at the cluster.
	Look func(ctx context.Context, live bool) (Sight, error)
	// Show shows a look, and is told whether the wait is over with it.
	Show func(s Sight, over bool) error
	// Fail is told why the cluster could not be read, where the wait goes on.
	Fail func(error)
	// Pause waits until the next look.
	Pause func(context.Context, plan.Plan, error) error
	// Late returns the error of a wait whose time is over.
	Late func() error
	Now  func() time.Time
	// Existed: the cluster was there before the first look.
	Existed bool
	// Outage is how long the API server may be away.
	Outage time.Duration

	seen time.Time // when the cluster was read last
}

// Run waits until the goal is reached, the time is over, or the user wants it to end.
func (l *Loop) Run(ctx context.Context) error {
	err := exit.Ended(ctx, l.run(ctx))
	if errors.Is(err, exit.ErrTimedOut) && l.Existed {
		return l.Late()
	}
	return err
}

func (l *Loop) run(ctx context.Context) error {
	for {
		s, over, end, err := l.judge(ctx)
		bearable := l.bearable(err)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case bearable:
			l.Fail(err)
		case err != nil:
			return l.lost(err)
		default:
			if err := l.Show(s, over); err != nil {
				return err
			}
			if over {
				return end
			}
		}
		if err := l.Pause(ctx, s.Plan, err); err != nil {
			return err
		}
	}
}

// judge looks, and reports whether the wait is over with that, and how. A wait ends only with what a live look shows.
func (l *Loop) judge(ctx context.Context) (s Sight, over bool, end, err error) {
	for _, live := range []bool{false, true} {
		if s, err = l.Look(ctx, live); err != nil {
			return s, false, nil, err
		}
		if over, end = l.Goal.ended(s); !over || s.Live {
			break
		}
	}
	return s, over, end, nil
}

// bearable reports whether the wait goes on although the cluster could not be read. The API server may be away for a
// while. The first look says at once what is wrong. A look without an error is noted.
func (l *Loop) bearable(err error) bool {
	now := l.Now()
	if err == nil {
		l.Existed, l.seen = true, now
		return false
	}
	return exit.Of(err) == exit.Failure && !l.seen.IsZero() && now.Sub(l.seen) < l.Outage
}

// lost returns the error of a wait that ends because the cluster could not be read.
func (l *Loop) lost(err error) error {
	if intent.Gone(err) && l.Existed {
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted"))
	}
	return err
}

// ended reports whether a look ends a wait, and returns the error of that end. It is nil for a goal that is reached.
func (g Goal) ended(s Sight) (over bool, end error) {
	deleting := s.Wanted.Cluster.Deleting
	_, lacks := g.lacks(s)
	switch {
	case deleting && !g.deleting:
		end = exit.With(exit.Aborted, errors.New("the cluster is being deleted"))
	case !deleting && lacks == "":
		return true, nil
	case deleting || g.endless:
		end = s.Unreadable
	default:
		end = drive.EndedBy(s.Plan)
	}
	return end != nil, end
}

package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// conclude returns the command's error for the end of a run. An error of the clean-up does not hide
// why the run ended.
func conclude(p plan.Plan, err error) error {
	if _, gone := errors.AsType[*intent.NotFoundError](err); gone {
		// The name is not wrong: the TidbCluster existed when the run began.
		return exit.With(exit.Aborted, errors.New("the TidbCluster was deleted during the run"))
	}
	left, short := errors.As(err, new(*reconcile.UndoError)), EndedBy(p)
	switch {
	case left && slices.Contains(safePoints, exit.Of(err)):
		return exit.With(exit.Failure, err)
	case left && short != nil:
		return exit.With(exit.Of(err), errors.Join(short, err))
	case err != nil:
		return err
	}
	return short
}

// EndedBy returns why a run ends before the cluster has converged; nil where the plan does not say.
func EndedBy(p plan.Plan) error {
	switch p.Outcome {
	case plan.Blocked:
		return exit.With(exit.Refused, errors.New(blockedBy(p)))
	case plan.Paused:
		return exit.With(exit.Paused, fmt.Errorf("the cluster is %s", p.Pause))
	case plan.Canary:
		return exit.With(exit.Paused, canaryOf(p))
	}
	return nil
}

// canaryError ends a run whose rollout has stopped at a canary. It has no text where the report has shown the canary.
type canaryError struct {
	gate  plan.Gate
	shown bool
}

func (e *canaryError) Error() string {
	if e.shown {
		return ""
	}
	return e.gate.String()
}

// AtCanary reports whether a run has stopped at a canary.
func AtCanary(err error) bool {
	_, stopped := errors.AsType[*canaryError](err)
	return stopped
}

// canaryOf returns the canary that waits for a person, and how it is promoted.
func canaryOf(p plan.Plan) error {
	i := slices.IndexFunc(p.Gates, func(g plan.Gate) bool { return g.Approval })
	return remedy.For(&canaryError{gate: p.Gates[i]}, p.Gates[i].Remedy...)
}

// safePoints are the exit codes of a run that was asked to end. They promise that nothing temporary
// was left behind.
var safePoints = []exit.Code{exit.Interrupted, exit.TimedOut}

// blockedBy returns what a run is blocked by. The event of the gate has said what a person can do.
func blockedBy(p plan.Plan) string {
	for _, g := range p.Gates {
		if g.Blocked {
			return g.String()
		}
	}
	return "blocked"
}

// Said returns an error without a text, for an error that the report has shown already. Its exit code stays, and so does
// the fact that the run has stopped at a canary.
func Said(err error) error {
	if err == nil {
		return nil
	}
	if c, stopped := errors.AsType[*canaryError](err); stopped {
		return exit.With(exit.Of(err), &canaryError{gate: c.gate, shown: true})
	}
	return exit.With(exit.Of(err), nil)
}

// Outcome names how a run ended, in the vocabulary of events.
func Outcome(err error) string {
	if AtCanary(err) {
		return event.OutcomeCanary
	}
	return outcomes[exit.Of(err)]
}

// outcomes name the ends in the vocabulary of events.
var outcomes = map[exit.Code]string{
	exit.OK:          event.OutcomeConverged,
	exit.Failure:     event.OutcomeFailed,
	exit.Usage:       event.OutcomeUsage,
	exit.Refused:     event.OutcomeBlocked,
	exit.TimedOut:    event.OutcomeTimedOut,
	exit.Paused:      event.OutcomePaused,
	exit.Aborted:     event.OutcomeAborted,
	exit.Held:        event.OutcomeConflict,
	exit.Forbidden:   event.OutcomeForbidden,
	exit.Pending:     event.OutcomeChanges,
	exit.Interrupted: event.OutcomeInterrupted,
}

// wayBackTime bounds the time in which a run that ends finds out whether its change can be taken back.
const wayBackTime = 5 * time.Second

// failed are the exit codes of runs after which a user may want to go back. So may one who judges a canary.
var failed = []exit.Code{exit.Failure, exit.Refused, exit.TimedOut}

// withWayBack adds to the error of a failed run the command that takes the change back, if possible now. A command
// that is refused is of no use in the middle of an incident.
func withWayBack(ctx context.Context, s *target.Session, asked *v1alpha1.TidbCluster, err error) error {
	if asked == nil || !slices.Contains(failed, exit.Of(err)) && !AtCanary(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wayBackTime) // the run's time may be over
	defer cancel()
	now, unread := s.Load(ctx)
	if unread != nil {
		return err
	}
	change, _, none := s.Intent.Rollback(now)
	if none != nil {
		return err
	}
	p, refused := check.Compare(ctx, s, check.Request{Change: change, WithoutPD: true})
	if refused != nil {
		return err
	}
	var flags []string
	if !p.Snapshot.PD.Known() { // such as after an upgrade of PD to an image that does not exist
		flags = append(flags, "--force")
	}
	return remedy.For(err, remedy.Run("to go back", p.Wanted.Cluster.Plugin("rollback", flags...)))
}

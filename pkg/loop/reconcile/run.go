package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Waiter waits between two turns: it returns when the next one is due. The error is that of the
// turn before, if it failed.
type Waiter interface {
	Wait(ctx context.Context, p plan.Plan, err error) error
}

// Final marks an error that another attempt cannot solve.
type Final interface{ Final() bool }

// HandsOff marks a cause of the end of a context after which nothing may be changed, not even to clean up. Another
// driver may have started.
type HandsOff interface{ HandsOff() bool }

// giveUp is how many turns in a row may fail, with nothing else going on, before a
// foreground run stops.
const giveUp = 30

// undoTimeout bounds the clean-up after an interrupt, and undoAttempts how often
// it is tried.
const (
	undoTimeout  = 20 * time.Second
	undoAttempts = 6
)

// Run drives the cluster until it has converged, or manual action is required, or ctx ends. Unless
// the cluster has converged, Run takes back temporary changes in PD before it returns. After the
// end of ctx the error is the context's cause.
func Run(ctx context.Context, e Engine, w Waiter) (plan.Plan, error) {
	e.Memory = &Memory{}
	p, err := e.untilSettled(ctx, w)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && p.Outcome == plan.Converged || isHandsOff(err) {
		return p, err
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	if failed := e.undoWithRetries(undo, w); failed != nil {
		return p, errors.Join(err, failed)
	}
	return p, err
}

// undoWithRetries is Undo with several attempts. PD may be without a leader for some seconds, and what is left in PD
// now stays there until the next run. It waits for gates until ctx ends.
func (e Engine) undoWithRetries(ctx context.Context, w Waiter) error {
	for failures := 0; ; {
		err := e.Undo(ctx)
		undo, _ := errors.AsType[*UndoError](err)
		switch {
		case err == nil || IsFinal(err) || isHandsOff(err):
			return err
		case undo != nil && len(undo.gates) > 0:
			if w.Wait(ctx, plan.Plan{Outcome: plan.Wait, Gates: undo.gates}, nil) != nil {
				return err
			}
			continue
		}
		if failures++; failures == undoAttempts || w.Wait(ctx, plan.Plan{}, err) != nil {
			return err
		}
	}
}

func (e Engine) untilSettled(ctx context.Context, w Waiter) (plan.Plan, error) {
	var p plan.Plan
	for failures := 0; ; {
		e.Progress.last = failures == giveUp-1
		next, err := e.Once(ctx)
		switch {
		case ctx.Err() != nil:
			return p, ctx.Err()
		case err == nil:
			p, failures = next, 0
			if ends(p.Outcome) {
				return p, nil
			}
		default:
			if failures = e.countFailures(failures, next, err); failures >= giveUp || IsFinal(err) || isHandsOff(err) {
				return p, err
			}
			e.Progress.Failed(err)
		}
		if p.Outcome == plan.Act && err == nil && e.Actor != nil {
			continue
		}
		if err := w.Wait(ctx, p, err); err != nil {
			return p, err
		}
	}
}

// countFailures returns the number of failed turns after one more, or zero where another component
// makes progress.
func (e Engine) countFailures(failures int, p plan.Plan, err error) int {
	if stepFailed(err) && e.Memory.goesOn(p) {
		return 0
	}
	return failures + 1
}

func stepFailed(err error) bool { return errors.As(err, new(*stepError)) }

func isHandsOff(err error) bool {
	var h HandsOff
	return errors.As(err, &h) && h.HandsOff()
}

// IsFinal reports whether another attempt cannot succeed. A missing permission is final wherever it is missed: in a
// step, in an observation and in a lease.
func IsFinal(err error) bool {
	var f Final
	return errors.As(err, &f) && f.Final() || denial.Of(err) == denial.NotPermitted
}

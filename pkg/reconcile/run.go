package reconcile

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

// Waiter paces the loop: it returns when it is worth looking again. The error
// is that of the turn before, if it failed.
type Waiter interface {
	Wait(ctx context.Context, p plan.Plan, err error) error
}

// Final marks an error that no further attempt will cure.
type Final interface{ Final() bool }

// HandsOff marks the cause of a context's end after which nothing may be done
// any more, not even to clean up: somebody else may be at work by then.
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

// Run drives the cluster until it has converged, or only a person can help, or
// ctx ends. Unless it has converged it takes back what is temporary before it
// returns. After the end of ctx the error is the context's cause.
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
	if failed := e.takeBack(undo, w); failed != nil {
		return p, errors.Join(err, failed)
	}
	return p, err
}

// takeBack is Undo, more than once where it fails: PD may be without a leader for
// some seconds, and what is left in PD now stays there until the next run. What has
// to be waited for is waited for as long as there is time.
func (e Engine) takeBack(ctx context.Context, w Waiter) error {
	for failures := 0; ; {
		err := e.Undo(ctx)
		undo, _ := errors.AsType[*UndoError](err)
		switch {
		case err == nil || isFinal(err) || isHandsOff(err):
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
		next, err := e.Once(ctx)
		switch {
		case ctx.Err() != nil:
			return p, ctx.Err()
		case err == nil:
			p, failures = next, 0
			if p.Outcome != plan.Act && p.Outcome != plan.Wait {
				return p, nil
			}
		default:
			if failures = e.again(failures, next, err); failures >= giveUp || isFinal(err) || isHandsOff(err) {
				return p, err
			}
			e.Story.Failed(err)
		}
		if p.Outcome == plan.Act && err == nil && e.Actor != nil {
			continue
		}
		if err := w.Wait(ctx, p, err); err != nil {
			return p, err
		}
	}
}

// again counts a turn that failed, or begins anew where something goes on beside that.
func (e Engine) again(failures int, p plan.Plan, err error) int {
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

func isFinal(err error) bool {
	var f Final
	return errors.As(err, &f) && f.Final()
}

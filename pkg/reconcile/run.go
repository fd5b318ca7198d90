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

// giveUp is how many turns in a row may fail before a foreground run stops.
const giveUp = 30

// undoTimeout bounds the clean-up after an interrupt.
const undoTimeout = 20 * time.Second

// Run drives the cluster until it has converged, or only a person can help, or
// ctx ends. After the end of ctx it takes back what is temporary and returns
// the context's cause.
func Run(ctx context.Context, e Engine, w Waiter) (plan.Plan, error) {
	var p plan.Plan
	for failures := 0; ; {
		next, err := e.Once(ctx)
		if ctx.Err() != nil {
			return p, e.stop(ctx)
		}
		if err == nil {
			p, failures = next, 0
			if p.Outcome != plan.Act && p.Outcome != plan.Wait {
				return p, nil
			}
		} else {
			if failures++; failures >= giveUp || isFinal(err) {
				return p, err
			}
			e.Story.Failed(err)
		}
		if p.Outcome == plan.Act && err == nil {
			continue
		}
		if err := w.Wait(ctx, p, err); err != nil {
			return p, e.stop(ctx)
		}
	}
}

func isFinal(err error) bool {
	var f Final
	return errors.As(err, &f) && f.Final()
}

func (e Engine) stop(ctx context.Context) error {
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	cause := context.Cause(ctx)
	if err := e.Undo(undo); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

package reconcile

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

const (
	// upkeepTimeout bounds all upkeep of one turn, since the steps of the next turn
	// wait for it.
	upkeepTimeout = 5 * time.Second
	// upkeepPause is the pause before a step of upkeep that failed is tried again.
	// Nothing depends on the step, and most failures are a missing permission.
	upkeepPause = 5 * time.Minute
	// stalePause is the same for a step that was outdated.
	stalePause = 5 * time.Second
)

// Outdated marks an error after which the next attempt may succeed: the cluster has
// changed since the step was decided.
type Outdated interface{ Stale() bool }

// Forgetter is an Observer that remembers what it read for upkeep. Forget is called
// after each step of upkeep, so that what the step may have changed is read again.
type Forgetter interface{ Forget(step.Step) }

// Upkeep takes steps of upkeep, several at the same time. Upkeep remembers steps that failed, only to try them again
// later. No decision depends on that memory.
type Upkeep struct {
	atOnce int
	now    func() time.Time
	paused map[string]time.Time // until when
}

// NewUpkeep returns an Upkeep that takes up to atOnce steps at the same time.
func NewUpkeep(atOnce int, now func() time.Time) *Upkeep {
	return &Upkeep{atOnce: max(atOnce, 1), now: now, paused: map[string]time.Time{}}
}

// doUpkeep takes the steps of upkeep of a turn. It cannot fail: a step that fails
// is reported once, and tried again later.
func (e Engine) doUpkeep(ctx context.Context, steps []step.Step) {
	due := e.due(steps)
	if len(due) == 0 || ctx.Err() != nil || !e.mayWrite(ctx) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	errs := make([]error, len(due))
	var all errgroup.Group
	all.SetLimit(e.Upkeep.atOnce)
	for i, s := range due {
		all.Go(func() error { errs[i] = e.Actor.Do(bounded, s); return nil })
	}
	_ = all.Wait()
	if ctx.Err() != nil {
		return // the steps were cut short, and have not failed
	}
	for i, s := range due {
		e.noteResult(s, errs[i])
	}
}

// due returns the steps of upkeep that this process takes and that have not failed
// just now.
func (e Engine) due(steps []step.Step) []step.Step {
	if e.Upkeep == nil || e.Actor == nil {
		return nil
	}
	return e.Upkeep.due(steps)
}

func (u *Upkeep) due(steps []step.Step) []step.Step {
	var out []step.Step
	for _, s := range steps {
		if !u.now().Before(u.paused[s.String()]) {
			out = append(out, s)
		}
	}
	return out
}

func (e Engine) noteResult(s step.Step, err error) {
	if f, ok := e.Observer.(Forgetter); ok {
		f.Forget(s)
	}
	if err == nil {
		delete(e.Upkeep.paused, s.String())
		if !s.Quiet() {
			e.Progress.Started(s)(nil)
		}
		return
	}
	var outdated Outdated
	if errors.As(err, &outdated) && outdated.Stale() {
		e.Upkeep.paused[s.String()] = e.Upkeep.now().Add(stalePause)
		return
	}
	e.Upkeep.paused[s.String()] = e.Upkeep.now().Add(upkeepPause)
	e.Progress.UpkeepFailed(s, err)
}

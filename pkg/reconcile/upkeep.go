package reconcile

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
)

const (
	// upkeepTimeout bounds all upkeep of one turn: what is to be done for the
	// user waits meanwhile.
	upkeepTimeout = 5 * time.Second
	// upkeepPause is how long a step of upkeep that failed is left alone.
	// Nothing depends on it, and most failures are a missing permission.
	upkeepPause = 5 * time.Minute
	// stalePause is the same for one that only came too late.
	stalePause = 5 * time.Second
)

// Outdated marks an error that says nothing of the next attempt: the world has
// changed since the step was decided.
type Outdated interface{ Stale() bool }

// Forgetter is an Observer that remembers what it read for upkeep. It is told
// of every step that was taken on it.
type Forgetter interface{ Forget(plan.Step) }

// Upkeep takes steps of upkeep, several at the same time. It remembers those
// that failed, only to leave them alone for a while: no decision depends on it.
type Upkeep struct {
	atOnce int
	now    func() time.Time
	paused map[string]time.Time // until when
}

// NewUpkeep makes an Upkeep that takes so many steps at the same time.
func NewUpkeep(atOnce int, now func() time.Time) *Upkeep {
	return &Upkeep{atOnce: max(atOnce, 1), now: now, paused: map[string]time.Time{}}
}

// tend takes the upkeep of a turn. It cannot fail: what could not be put right
// is told once, and tried again later.
func (e Engine) tend(ctx context.Context, steps []plan.Step) {
	due := e.due(steps)
	if len(due) == 0 || ctx.Err() != nil || !e.mayWrite(ctx) {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	errs := make([]error, len(due))
	var all errgroup.Group
	all.SetLimit(e.Upkeep.atOnce)
	for i, step := range due {
		all.Go(func() error { errs[i] = e.Actor.Do(bounded, step); return nil })
	}
	_ = all.Wait()
	if ctx.Err() != nil {
		return // cut short, which is no fault of the steps
	}
	for i, step := range due {
		e.settle(step, errs[i])
	}
}

// due is the upkeep that is ours and did not fail just now.
func (e Engine) due(steps []plan.Step) []plan.Step {
	if e.Upkeep == nil || e.Actor == nil {
		return nil
	}
	return e.Upkeep.due(steps)
}

func (u *Upkeep) due(steps []plan.Step) []plan.Step {
	var out []plan.Step
	for _, s := range steps {
		if !u.now().Before(u.paused[s.String()]) {
			out = append(out, s)
		}
	}
	return out
}

func (e Engine) settle(step plan.Step, err error) {
	if f, ok := e.Observer.(Forgetter); ok {
		f.Forget(step)
	}
	if err == nil {
		delete(e.Upkeep.paused, step.String())
		if !plan.Quiet(step) {
			e.Story.Started(step)(nil)
		}
		return
	}
	var outdated Outdated
	if errors.As(err, &outdated) && outdated.Stale() {
		e.Upkeep.paused[step.String()] = e.Upkeep.now().Add(stalePause)
		return
	}
	e.Upkeep.paused[step.String()] = e.Upkeep.now().Add(upkeepPause)
	e.Story.Shortfall(step, err)
}

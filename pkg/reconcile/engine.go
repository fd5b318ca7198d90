// Package reconcile is the loop: observe, decide, act, report, wait. It is the
// only package that knows all four verbs, and it owns no knowledge of TiDB.
//
// Foreground and daemon run the same Engine. They differ in how they wait and
// when they stop, and in nothing else. Between two turns the Engine remembers
// nothing but what failed, to try it after other things, and what it waited for, to
// say when waiting does not help. So any run can be killed at any moment and any
// other take over.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Observer reads the user's intent and the state of the cluster. With live it
// must not answer from a cache.
type Observer interface {
	Observe(ctx context.Context, live bool) (state.Observation, error)
}

// Actor takes one step. A step that finds the world changed since it was
// decided fails without changing anything.
type Actor interface {
	Do(ctx context.Context, step plan.Step) error
}

// Reporter is told what happens. It may not block and cannot fail: progress
// never delays or fails a change.
type Reporter interface {
	Report(event.Event)
}

// Recorder writes down what was seen, in the status of the TidbCluster.
type Recorder interface {
	Record(ctx context.Context, o state.Observation, w plan.Wanted, p plan.Plan) error
}

// Lease is the right to change the cluster, as long as it lasts.
type Lease interface {
	// Guard returns a context for one piece of work. It does not end with ctx,
	// but with the lease, with a cause that is HandsOff: at once when it must not
	// begin any more.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}

// stepTimeout bounds one step. PD may need 12 s to elect a leader after one was
// killed, and a step must outlive that.
const stepTimeout = 60 * time.Second

// Engine drives one cluster.
type Engine struct {
	Profiles []plan.Profile
	Policy   plan.Policy
	Observer Observer
	// Want works out what the user wants, against what there is.
	Want     func(state.Observation) (plan.Wanted, error)
	Actor    Actor // nil: follow, that is look and report only
	Lease    Lease // nil: there is nobody else
	Recorder Recorder
	Story    *Story
	Upkeep   *Upkeep // nil: upkeep is left to others
	// Memory is what is remembered from one turn to the next; nil: nothing is.
	Memory *Memory
	// Own makes this process the driver when there is something to do or to wait
	// for, and returns the context in which it is. With an error, others may be
	// at work, and nothing is told or done. nil: it is the driver already.
	Own func(context.Context) (context.Context, error)
	// Endless: nothing ends when the cluster has converged, so that this need
	// not be seen live. What a copy does not show yet it will show later.
	Endless bool
}

// Once takes one turn and returns what was decided in it.
func (e Engine) Once(ctx context.Context) (plan.Plan, error) {
	t, err := e.decide(ctx, false)
	if err != nil {
		return plan.Plan{}, err
	}
	if e.Own != nil && e.busy(t.plan) {
		// Before the live look: what was seen before may be another driver's
		// doing, half done.
		if ctx, err = e.Own(ctx); err != nil {
			return t.plan, err
		}
	}
	if t.plan.Disruptive() || t.plan.Outcome == plan.Converged && !e.Endless {
		// What PD says has no version that a write could be conditional on, so
		// a stale view must not restart a store; nor may a cache that has not
		// seen our own writes declare success.
		if t, err = e.decide(ctx, true); err != nil {
			return plan.Plan{}, err
		}
	}
	if ctx.Err() != nil {
		return plan.Plan{}, context.Cause(ctx) // what did not answer was cut short, and is not unknown
	}
	p := t.plan
	e.Memory.begin(p, t.observed.Snapshot.At)
	e.Story.Decided(t.wanted, t.observed.Snapshot, p)
	if e.Actor == nil {
		return p, nil
	}
	err = e.take(ctx, p.Steps)
	// Also after a failure: what cannot be done for one component must not
	// cost another its labels, or a pod the claim that it waits for.
	e.tend(ctx, p.Upkeep)
	if ctx.Err() != nil || !e.mayWrite(ctx) {
		return p, err // somebody else may be at work by now
	}
	// Also after a failure, or the status would go on saying Ready.
	if failed := e.Recorder.Record(ctx, t.observed, t.wanted, p); failed != nil {
		e.Story.Notice("the status of the TidbCluster could not be written: " + failed.Error())
	}
	return p, err
}

// busy tells whether somebody has to drive the cluster.
func (e Engine) busy(p plan.Plan) bool {
	if p.Outcome == plan.Converged || p.Outcome == plan.Paused {
		return len(e.due(p.Upkeep)) > 0
	}
	return true
}

// take takes steps in order. One that fails holds back those of its component
// that come after it, and all of them if it is for the cluster as a whole: a
// scale-out of TiDB need not wait for PD to allow leaders on a store.
func (e Engine) take(ctx context.Context, steps []plan.Step) error {
	var failed error
	by := map[topology.Kind]plan.Step{} // what failed
	for _, step := range steps {
		kind, _ := step.Target()
		if before := cmp.Or(by[""], by[kind]); before != nil {
			e.Story.HeldBack(step, before)
			continue
		}
		err := e.do(ctx, step)
		if err != nil {
			failed, by[kind] = errors.Join(failed, err), step
		}
		e.Memory.note(kind, err)
	}
	return failed
}

// turn is what one turn has seen and decided.
type turn struct {
	observed state.Observation
	wanted   plan.Wanted
	plan     plan.Plan
}

func (e Engine) decide(ctx context.Context, live bool) (turn, error) {
	t, err := e.look(ctx, live)
	if err == nil {
		t.wanted.Policy = e.Memory.recall(e.Policy)
		t.plan = plan.Decide(e.Profiles, t.wanted, t.observed.Snapshot)
	}
	return t, err
}

// look is a turn in which nothing is decided yet.
func (e Engine) look(ctx context.Context, live bool) (t turn, err error) {
	if t.observed, err = e.Observer.Observe(ctx, live); err == nil {
		t.wanted, err = e.Want(t.observed)
	}
	return t, err
}

func (e Engine) guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if e.Lease == nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return e.Lease.Guard(ctx)
}

func (e Engine) mayWrite(ctx context.Context) bool {
	guarded, release := e.guard(ctx)
	defer release()
	return guarded.Err() == nil
}

// do takes a step to its end: an interrupt comes into effect after it. The end of
// the lease does so at once: who has it then may be taking the same step.
func (e Engine) do(ctx context.Context, step plan.Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	guarded, release := e.guard(ctx)
	defer release()
	if guarded.Err() != nil {
		return context.Cause(guarded)
	}
	bounded, cancel := context.WithTimeout(guarded, stepTimeout)
	defer cancel()
	done := e.Story.Started(step)
	err := e.Actor.Do(bounded, step)
	if err != nil && guarded.Err() != nil {
		err = context.Cause(guarded)
	}
	done(err)
	if err != nil {
		return &stepError{step, err}
	}
	return nil
}

// stepError says which step failed.
type stepError struct {
	step plan.Step
	err  error
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", e.step, e.err) }
func (e *stepError) Unwrap() error { return e.err }

// UndoError says that temporary state could not be taken back. It stays recorded
// in the cluster, so that the next run finds it.
type UndoError struct {
	err error
	// gates are what has to hold before the rest can be taken back.
	gates []plan.Gate
}

func (e *UndoError) Error() string {
	return "what is temporary could not be taken back, and stays recorded in the cluster: " + e.err.Error()
}

func (e *UndoError) Unwrap() error { return e.err }

// Undo takes back the temporary state that a run which stops half-way would
// leave behind. A step that fails does not keep the others from being taken.
func (e Engine) Undo(ctx context.Context) error {
	if e.Actor == nil {
		return nil
	}
	t, err := e.look(ctx, true)
	if err != nil {
		return &UndoError{err: err}
	}
	if t.observed.Cluster.Paused {
		return nil // paused means that nothing is done, not even this
	}
	var failed error
	steps, gates := plan.Undo(t.wanted, t.observed.Snapshot)
	for _, step := range steps {
		failed = errors.Join(failed, e.do(ctx, step))
	}
	for _, g := range gates {
		failed = errors.Join(failed, remedy.For(errors.New(g.String()), g.Remedy...))
	}
	if failed != nil {
		return &UndoError{failed, gates}
	}
	return nil
}

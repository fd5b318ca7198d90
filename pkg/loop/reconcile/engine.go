// Package reconcile is the loop: observe, decide, act, report, wait. It is the
// only package that knows all four verbs, and it owns no knowledge of TiDB.
//
// Foreground commands and the daemon run the same Engine. They differ only in the way of waiting and in the moment
// at which they stop. Between two turns the Engine remembers only which steps failed, to take other steps first. It
// also remembers what it waited for, to report when waiting does not help. So any run can be killed at any moment
// and another one can take over.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Observer reads the user's intent and the state of the cluster. With live it
// must not answer from a cache.
type Observer interface {
	Observe(ctx context.Context, live bool) (state.Observation, error)
}

// Actor takes one step. A step fails without changing anything where the cluster
// has changed since the step was decided.
type Actor interface {
	Do(ctx context.Context, step step.Step) error
}

// Reporter receives events. It may not block and cannot fail, so that reporting
// never delays or fails a change.
type Reporter interface {
	Report(event.Event)
}

// Recorder writes what was observed into the status of the TidbCluster.
type Recorder interface {
	Record(ctx context.Context, o state.Observation, w desired.State, p plan.Plan) error
}

// Lease is the right to change the cluster, as long as it lasts.
type Lease interface {
	// Guard returns a context for one piece of work. It does not end with ctx, but
	// with the lease, with a cause that is HandsOff. It has already ended where the
	// work must not begin.
	Guard(ctx context.Context) (context.Context, context.CancelFunc)
}

// stepTimeout bounds one step. PD may need 12 s to elect a leader after one was
// killed, and a step must not fail because of that.
const stepTimeout = 60 * time.Second

// Engine drives one cluster.
type Engine struct {
	Profiles []plan.Profile
	Policy   plan.Policy
	Observer Observer
	// Want returns what the user wants, compared with what exists.
	Want     func(state.Observation) (desired.State, error)
	Actor    Actor // nil: follow, that is only observe and report
	Lease    Lease // nil: there is no other driver
	Parts    Parts // nil: the database has no other part
	Recorder Recorder
	Progress *Progress
	Upkeep   *Upkeep // nil: another process does upkeep
	// Memory is what is remembered from one turn to the next; nil for nothing.
	Memory *Memory
	// Own makes this process the driver when there is something to do or to wait for. It returns a context that ends
	// when this process is not the driver any more. After an error another process may be the driver, and nothing is
	// reported or done. nil: this process is the driver already.
	Own func(context.Context) (context.Context, error)
	// Endless is true if the caller goes on after the cluster has converged. Then
	// that need not be read live: what a cache does not show yet it will show
	// later.
	Endless bool
}

// Once takes one turn and returns its plan.
func (e Engine) Once(ctx context.Context) (plan.Plan, error) {
	t, err := e.decide(ctx, false)
	if err != nil {
		return plan.Plan{}, err
	}
	if e.Own != nil && e.needsDriver(t.plan) {
		// Before the live read: what was read before may be an unfinished change of
		// another driver.
		if ctx, err = e.Own(ctx); err != nil {
			return t.plan, err
		}
	}
	if t.plan.MustBeLive() || ends(t.plan.Outcome) && !e.Endless {
		// What PD says has no version that a write could be conditional on, so a store must not be restarted on an
		// outdated view. Nor may a cache that does not show our own writes yet, or what a person has mended, end a
		// run.
		if t, err = e.decide(ctx, true); err != nil {
			return plan.Plan{}, err
		}
	}
	if ctx.Err() != nil {
		return plan.Plan{}, context.Cause(ctx) // requests were cut short: a member that did not answer is not unknown
	}
	p := t.plan
	e.Memory.begin(p, t.observed.Snapshot.At)
	e.Progress.Decided(t.wanted, t.observed.Snapshot, p)
	if e.Actor == nil {
		return p, nil
	}
	steps, err := e.lockParts(ctx, p, t.observed.Snapshot)
	err = errors.Join(err, e.takeSteps(ctx, steps))
	// Upkeep is also done after a failure. A step that fails for one component must not keep labels from another
	// component, or a claim from a pod that waits for it.
	e.doUpkeep(ctx, p.Upkeep)
	if ctx.Err() != nil || !e.mayWrite(ctx) {
		return p, err // another driver may have started now
	}
	// Also after a failure: otherwise the status would still say Ready. A run that was ended meanwhile says why itself.
	if failed := e.Recorder.Record(ctx, t.observed, t.wanted, p); failed != nil && ctx.Err() == nil {
		e.Progress.Notice(event.StatusNotWritten, "the status of the TidbCluster could not be written: "+failed.Error())
	}
	return p, err
}

// ends reports whether a run that does not go on for ever is over.
func ends(o plan.Outcome) bool { return o != plan.Act && o != plan.Wait }

// needsDriver reports whether the cluster needs a driver now.
func (e Engine) needsDriver(p plan.Plan) bool {
	if p.Outcome == plan.Converged || p.Outcome == plan.Paused {
		return len(e.due(p.Upkeep)) > 0
	}
	return true
}

// decisionLasts is how long after a decision a step of the decision may begin. A step before may have taken long, or a
// laptop may have slept. The time is shorter than what a step may rely on, such as the limit of leader moves that PD
// keeps for two minutes.
const decisionLasts = time.Minute

// takeSteps takes steps in order. The first step is always begun. Later steps are begun only within decisionLasts, and
// the next turn decides again about the rest. A step that fails holds back the later steps of its component, and all
// later steps if it is for the cluster as a whole. Other components continue: a scale-out of TiDB need not wait for PD
// to allow leaders on a store.
func (e Engine) takeSteps(ctx context.Context, steps []step.Step) error {
	var failed error
	by := map[topology.Kind]step.Step{} // the step that failed
	end := e.Progress.now().Add(decisionLasts)
	for i, s := range steps {
		if i > 0 && e.Progress.now().After(end) {
			break
		}
		kind, _ := s.Target()
		if before := cmp.Or(by[""], by[kind]); before != nil {
			e.Progress.HeldBack(s, before)
			continue
		}
		err := e.do(ctx, s)
		if err != nil {
			failed, by[kind] = errors.Join(failed, err), s
		}
		e.Memory.note(s, err)
	}
	return failed
}

// turn is what was observed and decided in one turn.
type turn struct {
	observed state.Observation
	wanted   desired.State
	plan     plan.Plan
}

func (e Engine) decide(ctx context.Context, live bool) (turn, error) {
	t, err := e.observe(ctx, live)
	if err == nil {
		t.plan = plan.Decide(e.Profiles, e.Memory.withMemory(e.Policy), t.wanted, t.observed.Snapshot)
	}
	return t, err
}

// observe returns a turn in which nothing is decided yet.
func (e Engine) observe(ctx context.Context, live bool) (t turn, err error) {
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

// do takes one step. An interrupt takes effect after the step, the loss of the
// lease at once: the next holder may take the same step.
func (e Engine) do(ctx context.Context, s step.Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	guarded, release := e.guard(ctx)
	defer release()
	if guarded.Err() != nil {
		return context.Cause(guarded)
	}
	if e.Parts != nil && plan.TakesAway(s) {
		var over context.CancelFunc
		guarded, over = e.Parts.Guard(guarded)
		defer over()
	}
	bounded, cancel := context.WithTimeout(guarded, stepTimeout)
	defer cancel()
	done := e.reported(s)
	err := e.Actor.Do(bounded, s)
	if err != nil && guarded.Err() != nil {
		err = context.Cause(guarded)
	}
	done(err)
	if err != nil {
		return &stepError{s, err}
	}
	return nil
}

// reported reports that a step begins; the function that it returns reports its end. Of a quiet step only
// a failure is reported.
func (e Engine) reported(s step.Step) func(error) {
	if !s.Quiet() {
		return e.Progress.Started(s)
	}
	return func(err error) {
		if err != nil {
			e.Progress.Started(s)(err)
		}
	}
}

// stepError says which step failed.
type stepError struct {
	step step.Step
	err  error
}

func (e *stepError) Error() string { return fmt.Sprintf("%s: %v", e.step, e.err) }
func (e *stepError) Unwrap() error { return e.err }

// UndoError reports that temporary changes in PD could not be taken back. They stay
// recorded in the cluster, so that the next run finds them.
type UndoError struct {
	err error
	// gates must hold before the rest can be taken back.
	gates []plan.Gate
}

func (e *UndoError) Error() string {
	return "temporary changes in PD could not be taken back, and stay recorded in the cluster: " + e.err.Error()
}

func (e *UndoError) Unwrap() error { return e.err }

// Undo takes back the temporary changes in PD that a run leaves behind when it
// stops early. After a step that fails the others are still taken.
func (e Engine) Undo(ctx context.Context) error {
	if e.Actor == nil {
		return nil
	}
	t, err := e.observe(ctx, true)
	if err != nil {
		return &UndoError{err: err}
	}
	if t.observed.Cluster.Paused {
		return nil // paused: nothing is changed, not even this
	}
	var failed error
	steps, gates := plan.Undo(t.wanted, t.observed.Snapshot)
	for _, s := range steps {
		failed = errors.Join(failed, e.do(ctx, s))
	}
	for _, g := range gates {
		failed = errors.Join(failed, remedy.For(errors.New(g.String()), g.Remedy...))
	}
	if failed != nil {
		return &UndoError{failed, gates}
	}
	return nil
}

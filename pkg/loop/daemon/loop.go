package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// longestPause bounds how late the daemon sees a change that nothing reports,
	// while there is something to wait for.
	longestPause = 30 * time.Second
	// yieldFor is how long the daemon leaves a cluster to a process that has asked
	// for its lease.
	yieldFor = 10 * time.Second
	// undoTimeout bounds the clean-up of one cluster at the end.
	undoTimeout = 20 * time.Second
)

// Loop takes turns of one cluster without an end. It takes the cluster's lease when there is something to do or to
// wait for, and marks the lease idle when there is not. While another process holds the lease, it changes nothing.
// It is not safe for concurrent use. It uses no API server and no clock of its own, so that the simulation can run
// the same code.
type Loop struct {
	Cluster topology.Cluster
	Engine  reconcile.Engine // the caller sets the fields that NewLoop does not set
	Bid     *lease.Bid
	Now     func() time.Time
	Jitter  func(time.Duration) time.Duration
	Poll    time.Duration // see Config, also for Resync
	Resync  time.Duration
	// Operator returns the name of a tidb-operator that drives the cluster, "" when
	// none does. It fails when that is unknown.
	Operator func(context.Context) (string, error)
	// OnTaken is called with each lease that was taken.
	OnTaken func(*lease.Held)
	// BeforeRelease is called with each lease before it is released; nil for none.
	BeforeRelease func(*lease.Held)
	// OnIdle is called when there is nothing to do and nothing to wait for.
	OnIdle func()

	lifetime    context.Context // a lease is not held after its end
	observer    reconcile.Observer
	held        *lease.Held // nil while this process does not drive the cluster
	unreleased  *lease.Held // a lease whose release failed
	begun       time.Time   // since when there is something to do; zero for nothing
	readAt      time.Time   // when the cluster was last read without the mirror
	pauses      reconcile.Pauses
	live        bool      // this turn reads without the mirror
	otherDriver string    // the process that drives the cluster instead
	yielded     time.Time // when the cluster was left to a process that asked for it
}

// NewLoop returns a Loop that holds leases until lifetime ends. Its engine observes
// through o.
func NewLoop(lifetime context.Context, o reconcile.Observer, now func() time.Time) *Loop {
	l := &Loop{lifetime: lifetime, observer: o, Now: now, readAt: now()}
	l.Engine.Memory = &reconcile.Memory{}
	l.Engine.Observer, l.Engine.Own, l.Engine.Lease, l.Engine.Endless = l, l.Own, l, true
	return l
}

// Observe implements reconcile.Observer.
func (l *Loop) Observe(ctx context.Context, live bool) (state.Observation, error) {
	return l.observer.Observe(ctx, live || l.live)
}

// Forget implements reconcile.Forgetter.
func (l *Loop) Forget(s step.Step) {
	if f, ok := l.observer.(reconcile.Forgetter); ok {
		f.Forget(s)
	}
}

// Turn takes one turn, and returns when the next one is due if nothing happens
// before: zero for at once.
func (l *Loop) Turn(ctx context.Context) (p plan.Plan, pause time.Duration, err error) {
	now := l.Now()
	l.retryRelease(ctx)
	if l.live = now.Sub(l.readAt) >= l.Resync; l.live {
		l.readAt = now
	}
	if ctx, err = l.leaseContext(ctx); err != nil {
		return p, 0, err
	}
	if p, err = l.Engine.Once(ctx); err != nil {
		l.reportDriver(err)
		return p, 0, err
	}
	l.otherDriver = ""
	return p, l.pauseAfter(p), nil
}

// leaseContext returns the context that ends with the lease, ctx where there is no
// lease. It releases a lease that has ended, except when the daemon ends: Stop
// needs it then.
func (l *Loop) leaseContext(ctx context.Context) (context.Context, error) {
	if l.held == nil {
		return ctx, nil
	}
	if l.held.MarkInUse() && l.held.Context().Err() == nil {
		return l.held.Context(), nil
	}
	cause := context.Cause(l.held.Context())
	if l.lifetime.Err() != nil {
		return nil, cause
	}
	if asked, ok := errors.AsType[*lease.AskedError](cause); ok {
		// The process that has asked for it gets the time to take it.
		l.yielded = l.Now()
		l.reportDriver(l.drivenElsewhere(asked.By))
	}
	l.Release()
	return ctx, nil
}

// reportDriver reports once which process drives the cluster instead.
func (l *Loop) reportDriver(err error) {
	taken, ok := errors.AsType[*lease.HeldError](err)
	if !ok || l.otherDriver == taken.Holder.Identity {
		return
	}
	l.otherDriver = taken.Holder.Identity
	l.Engine.Progress.Notice(event.FollowingDriver, taken.Holder.Describe()+" drives the cluster; following, making no changes")
}

// Own makes this process the driver of the cluster. It implements
// reconcile.Engine.Own.
func (l *Loop) Own(ctx context.Context) (context.Context, error) {
	if l.held == nil && l.Now().Sub(l.yielded) < yieldFor {
		return nil, l.drivenElsewhere(lease.Holder{Identity: l.otherDriver})
	}
	by, err := l.Operator(ctx)
	if err != nil {
		return nil, err
	}
	if by != "" {
		if err := l.undoAndRelease(ctx); err != nil {
			l.Engine.Progress.Notice(event.UndoFailed, err.Error())
		}
		return nil, l.drivenElsewhere(lease.Holder{Identity: by})
	}
	if l.held == nil {
		// Until the daemon ends, not only for this turn.
		held, err := l.Bid.Try(l.lifetime)
		if err != nil {
			return nil, err
		}
		l.held, l.unreleased = held, nil
		l.OnTaken(held)
	}
	return l.held.Context(), context.Cause(l.held.Context())
}

// undoAndRelease takes back temporary changes in PD and releases the lease, if
// there is one.
func (l *Loop) undoAndRelease(ctx context.Context) error {
	if l.held == nil {
		return nil
	}
	defer l.Release()
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	e := l.Engine
	e.Lease = l.held // beside a tidb-operator, too
	return e.Undo(ctx)
}

// Guard implements reconcile.Lease. Without a lease nothing is written but the
// status, for which the Recorder takes the lease itself. A turn can have many steps
// that take long, and a tidb-operator can come meanwhile: then no other step begins.
func (l *Loop) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.held == nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	guarded, release := l.held.Guard(ctx)
	by, err := l.Operator(ctx)
	if by != "" {
		err = l.drivenElsewhere(lease.Holder{Identity: by})
	}
	if err == nil {
		return guarded, release
	}
	ended, end := context.WithCancelCause(guarded)
	end(err)
	return ended, release
}

// drivenElsewhere returns the error for a cluster that another process drives.
func (l *Loop) drivenElsewhere(by lease.Holder) error {
	return &lease.HeldError{Alive: true, Namespace: l.Cluster.Namespace, Name: l.Cluster.Name, Holder: by}
}

// Release releases the lease, if there is one.
func (l *Loop) Release() {
	if l.held == nil {
		return
	}
	if l.BeforeRelease != nil {
		l.BeforeRelease(l.held)
	}
	if err := l.held.Release(); err != nil {
		l.Engine.Progress.Notice(event.LeaseNotReleased, err.Error())
		l.unreleased = l.held
	}
	l.held = nil
}

// retryRelease releases a lease whose release failed before, or that was taken
// without an answer. Otherwise the Lease of a converged cluster would name this
// process for ever, and the next driver would have to wait until it has expired.
func (l *Loop) retryRelease(ctx context.Context) {
	if l.held != nil {
		return
	}
	if l.unreleased != nil && l.unreleased.Release() == nil {
		l.unreleased = nil
	}
	_ = l.Bid.Withdraw(ctx) // what fails is tried again
}

// pauseAfter returns the pause after a plan. The lease is kept while the cluster
// waits for something, so that the process which made a temporary change in PD also
// takes it back.
func (l *Loop) pauseAfter(p plan.Plan) time.Duration {
	now := l.Now()
	switch p.Outcome {
	case plan.Act:
		l.markBusy(now)
		l.markIdle() // with a long queue the next turn may come late
		return 0
	case plan.Wait:
		l.markBusy(now)
		return l.pauses.After(p, now, longestPause)
	case plan.Blocked, plan.Canary:
		l.markBusy(now)
		return l.Jitter(longestPause)
	}
	if !l.begun.IsZero() {
		outcome := map[plan.Outcome]string{plan.Converged: event.OutcomeConverged, plan.Paused: event.OutcomePaused}[p.Outcome]
		l.Engine.Progress.Done(outcome, 0, now.Sub(l.begun), nil)
		l.begun = time.Time{}
	}
	l.markIdle()
	l.OnIdle()
	pause := l.Jitter(l.Poll)
	if until := p.Deadline(); p.Outcome == plan.Paused && !until.IsZero() {
		pause = min(pause, max(until.Sub(now), 0)) // a pause ends by itself then
	}
	return pause
}

// markBusy notes since when there is something to do.
func (l *Loop) markBusy(now time.Time) {
	if l.begun.IsZero() {
		l.begun = now
	}
}

// markIdle lets the lease end instead of being renewed, since there is nothing to
// do for the moment.
func (l *Loop) markIdle() {
	if l.held != nil {
		l.held.MarkIdle()
	}
}

// Stop takes back temporary changes in PD and releases the lease.
func (l *Loop) Stop(ctx context.Context) error {
	if l.held != nil && !l.held.MarkInUse() {
		l.Release()
	}
	if l.held == nil && !l.begun.IsZero() {
		// If another process holds it, that one continues with the cluster.
		if held, err := l.Bid.Try(ctx); err == nil {
			l.held = held
			l.OnTaken(held)
		}
	}
	return l.undoAndRelease(ctx)
}

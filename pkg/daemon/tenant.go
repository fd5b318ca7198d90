package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

const (
	// lookAgain bounds how long something that nobody reports can go unseen
	// while there is something to wait for.
	lookAgain = 30 * time.Second
	// giveWay is how long a cluster is left alone for who has asked for it.
	giveWay = 10 * time.Second
	// undoTimeout bounds what is taken back of one cluster at the end.
	undoTimeout = 20 * time.Second
)

// Tenant takes turns at one cluster without an end. It takes the cluster's lease when
// there is something to do or to wait for, lets it rest when there is not, and keeps
// off while others have it. It is not safe for concurrent use. It knows no API server
// and no clock, so that the simulation drives the same one.
type Tenant struct {
	Cluster topology.Cluster
	Engine  reconcile.Engine // what NewTenant did not set of it
	Bid     *lease.Bid
	Now     func() time.Time
	Jitter  func(time.Duration) time.Duration
	Poll    time.Duration // see Config, as for Resync
	Resync  time.Duration
	// Operator names a tidb-operator that drives the cluster, "" when none does. It
	// fails when that is unknown.
	Operator func(context.Context) (string, error)
	// Taken is told of each lease that was taken.
	Taken func(*lease.Held)
	// Gives is told of each lease before it is given back; nil: nobody is.
	Gives func(*lease.Held)
	// Rests is told when there is nothing to do and nothing to wait for.
	Rests func()

	life     context.Context // a lease is held for no longer than that
	observer reconcile.Observer
	held     *lease.Held // nil: it is not ours to drive
	owed     *lease.Held // could not be given back
	begun    time.Time   // when there was something to do
	looked   time.Time   // when it was last seen without the mirror
	pauses   reconcile.Pauses
	live     bool      // this turn looks past the mirror
	other    string    // who drives the cluster instead
	yielded  time.Time // when it was left to somebody who asked for it
}

// NewTenant makes a Tenant that lives as long as life does. Its engine observes by
// means of o, and remembers what it was told of steps of upkeep if o does.
func NewTenant(life context.Context, o reconcile.Observer, now func() time.Time) *Tenant {
	t := &Tenant{life: life, observer: o, Now: now, looked: now()}
	t.Engine.Memory = &reconcile.Memory{}
	t.Engine.Observer, t.Engine.Own, t.Engine.Lease, t.Engine.Endless = t, t.Own, t, true
	return t
}

// Observe implements reconcile.Observer.
func (t *Tenant) Observe(ctx context.Context, live bool) (state.Observation, error) {
	return t.observer.Observe(ctx, live || t.live)
}

// Forget implements reconcile.Forgetter.
func (t *Tenant) Forget(step plan.Step) {
	if f, ok := t.observer.(reconcile.Forgetter); ok {
		f.Forget(step)
	}
}

// Turn takes one turn, and says when the next one is due if nothing happens before:
// at once for zero.
func (t *Tenant) Turn(ctx context.Context) (p plan.Plan, pause time.Duration, err error) {
	now := t.Now()
	t.repay(ctx)
	if t.live = now.Sub(t.looked) >= t.Resync; t.live {
		t.looked = now
	}
	if ctx, err = t.tenure(ctx); err != nil {
		return p, 0, err
	}
	if p, err = t.Engine.Once(ctx); err != nil {
		t.lookOn(err)
		return p, 0, err
	}
	t.other = ""
	return p, t.settle(p), nil
}

// tenure is the context in which the cluster is ours, as long as it is. A lease
// that has ended is let go of, but not one that is held still when the daemon ends.
func (t *Tenant) tenure(ctx context.Context) (context.Context, error) {
	if t.held == nil {
		return ctx, nil
	}
	if t.held.Use() && t.held.Context().Err() == nil {
		return t.held.Context(), nil
	}
	cause := context.Cause(t.held.Context())
	if t.life.Err() != nil {
		return nil, cause
	}
	if asked, ok := errors.AsType[*lease.AskedError](cause); ok {
		// Who has asked for it gets the time to take it.
		t.yielded = t.Now()
		t.lookOn(t.elsewhere(asked.By))
	}
	t.LetGo()
	return ctx, nil
}

// lookOn tells once who drives the cluster instead.
func (t *Tenant) lookOn(err error) {
	taken, ok := errors.AsType[*lease.HeldError](err)
	if !ok || t.other == taken.Holder.Identity {
		return
	}
	t.other = taken.Holder.Identity
	t.Engine.Story.Notice(taken.Holder.Describe() + " drives the cluster; following, making no changes")
}

// Own makes this process the driver of the cluster. It implements
// reconcile.Engine.Own.
func (t *Tenant) Own(ctx context.Context) (context.Context, error) {
	if t.held == nil && t.Now().Sub(t.yielded) < giveWay {
		return nil, t.elsewhere(lease.Holder{Identity: t.other})
	}
	by, err := t.Operator(ctx)
	if err != nil {
		return nil, err
	}
	if by != "" {
		if err := t.retreat(ctx); err != nil {
			t.Engine.Story.Notice(err.Error())
		}
		return nil, t.elsewhere(lease.Holder{Identity: by})
	}
	if t.held == nil {
		// For as long as the daemon lives, not for this turn.
		held, err := t.Bid.Try(t.life)
		if err != nil {
			return nil, err
		}
		t.held, t.owed = held, nil
		t.Taken(held)
	}
	return t.held.Context(), context.Cause(t.held.Context())
}

// retreat takes back what is temporary and gives the lease back, if there is one.
func (t *Tenant) retreat(ctx context.Context) error {
	if t.held == nil {
		return nil
	}
	defer t.LetGo()
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	return t.Engine.Undo(ctx)
}

// Guard implements reconcile.Lease. Without a lease there is nothing to write but
// the status, which is for the Recorder to see to.
func (t *Tenant) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.held == nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return t.held.Guard(ctx)
}

// elsewhere is the error of a cluster that somebody else drives.
func (t *Tenant) elsewhere(by lease.Holder) error {
	return &lease.HeldError{Alive: true, Namespace: t.Cluster.Namespace, Name: t.Cluster.Name, Holder: by}
}

// LetGo gives the lease back, if there is one.
func (t *Tenant) LetGo() {
	if t.held == nil {
		return
	}
	if t.Gives != nil {
		t.Gives(t.held)
	}
	if err := t.held.Release(); err != nil {
		t.Engine.Story.Notice(err.Error())
		t.owed = t.held
	}
	t.held = nil
}

// repay gives a lease back that could not be given back before, or was got without
// an answer. A cluster that wants nothing would name us as its driver for ever, and
// whoever comes would have to find out first that we are not.
func (t *Tenant) repay(ctx context.Context) {
	if t.held != nil {
		return
	}
	if t.owed != nil && t.owed.Release() == nil {
		t.owed = nil
	}
	_ = t.Bid.Withdraw(ctx) // what fails is tried again
}

// settle says how long a plan may be left alone. A lease is kept while something is
// awaited: what is temporary is to be taken back by who made it.
func (t *Tenant) settle(p plan.Plan) time.Duration {
	now := t.Now()
	switch p.Outcome {
	case plan.Act:
		t.stir(now)
		t.pause() // in a long queue it may take a while until the next turn
		return 0
	case plan.Wait:
		t.stir(now)
		return t.pauses.After(p, now, lookAgain)
	case plan.Blocked:
		t.stir(now)
		return t.Jitter(lookAgain)
	}
	if !t.begun.IsZero() {
		outcome := map[plan.Outcome]string{plan.Converged: event.OutcomeConverged, plan.Paused: event.OutcomePaused}[p.Outcome]
		t.Engine.Story.Done(outcome, 0, now.Sub(t.begun), nil)
		t.begun = time.Time{}
	}
	t.pause()
	t.Rests()
	return t.Jitter(t.Poll)
}

// stir: there is something to do.
func (t *Tenant) stir(now time.Time) {
	if t.begun.IsZero() {
		t.begun = now
	}
}

// pause: there is nothing to do for the moment.
func (t *Tenant) pause() {
	if t.held != nil {
		t.held.Rest()
	}
}

// Stop takes back what is temporary and lets go of the cluster.
func (t *Tenant) Stop(ctx context.Context) error {
	if t.held != nil && !t.held.Use() {
		t.LetGo()
	}
	if t.held == nil && !t.begun.IsZero() {
		t.held, _ = t.Bid.Try(ctx) // whoever has it goes on with the cluster
	}
	return t.retreat(ctx)
}

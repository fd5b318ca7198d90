package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/act"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/observe"
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
	// heldPause is when to look again at a cluster that another one drives.
	heldPause = 3 * time.Second
	// upkeepAtOnce is how many small corrections of one cluster are made at once.
	upkeepAtOnce = 4
	// undoTimeout bounds what is taken back of one cluster at the end.
	undoTimeout = 20 * time.Second
)

// driver is one cluster that the daemon looks after. One worker has it at a time.
type driver struct {
	key      cache.ObjectName
	home     *Daemon
	observer *observe.Observer
	engine   reconcile.Engine
	story    *reconcile.Story

	cluster topology.Cluster // what the rest was made for
	bid     *lease.Bid
	held    *lease.Held // nil: it is not ours to drive
	begun   time.Time   // when there was something to do
	looked  time.Time   // when it was last seen without the mirror
	live    bool        // this turn looks past the mirror
	other   string      // who drives the cluster instead
	yielded time.Time   // when it was left to somebody who asked for it
}

func (d *Daemon) newDriver(key cache.ObjectName) *driver {
	dr := &driver{key: key, home: d, looked: d.now()}
	dr.observer = observe.New(d.Kube, d.Dialer, func(ctx context.Context) (*v1alpha1.TidbCluster, error) {
		return d.Intent.Load(ctx, key.Namespace, key.Name)
	}, d.now)
	dr.observer.Mirror(d.mirror.of(key))
	if d.PD != nil {
		dr.observer.Told(func(call string, took time.Duration, err error) { d.PD(key, call, took, err) })
	}
	dr.observer.Tend(d.Resync)
	dr.story = reconcile.NewStory(key.Namespace, key.Name, d.now, d.reporter(key)).Endless()
	dr.engine = reconcile.Engine{
		Profiles: component.Profiles(), Policy: d.Policy, Observer: dr, Story: dr.story,
		Upkeep: reconcile.NewUpkeep(upkeepAtOnce, d.now), Own: dr.own, Endless: true, Lease: dr,
	}
	return dr
}

// Observe implements reconcile.Observer.
func (d *driver) Observe(ctx context.Context, live bool) (plan.Wanted, state.Snapshot, error) {
	return d.observer.Observe(ctx, live || d.live)
}

// Forget implements reconcile.Forgetter.
func (d *driver) Forget(step plan.Step) { d.observer.Forget(step) }

// turn takes one turn, and says when the next one is due if nothing happens
// before: at once for zero.
func (d *driver) turn(ctx context.Context) (p plan.Plan, pause time.Duration, err error) {
	tc, err := d.home.mirror.of(d.key).Intent(ctx)
	if err != nil {
		return plan.Plan{}, 0, err
	}
	d.meet(topology.New(tc))
	now := d.home.now()
	if d.live = now.Sub(d.looked) >= d.home.Resync; d.live {
		d.looked = now
	}
	if ctx, err = d.tenure(ctx); err != nil {
		return p, 0, err
	}
	p, err = d.engine.Once(ctx)
	if err != nil {
		d.lookOn(err)
		return p, 0, err
	}
	d.other = ""
	return p, d.settle(p), nil
}

// tenure is the context in which the cluster is ours, as long as it is. A lease
// that has ended is let go of, but not one that is held still when the daemon ends.
func (d *driver) tenure(ctx context.Context) (context.Context, error) {
	if d.held == nil {
		return ctx, nil
	}
	if d.held.Use() && d.held.Context().Err() == nil {
		return d.held.Context(), nil
	}
	cause := context.Cause(d.held.Context())
	if d.home.life.Err() != nil {
		return nil, cause
	}
	if asked, ok := errors.AsType[*lease.AskedError](cause); ok {
		// Who has asked for it gets the time to take it.
		d.yielded = d.home.now()
		d.lookOn(d.elsewhere(asked.By))
	}
	d.letGo()
	return ctx, nil
}

// lookOn tells once who drives the cluster instead.
func (d *driver) lookOn(err error) {
	taken, ok := errors.AsType[*lease.HeldError](err)
	if !ok || d.other == taken.Holder.Identity {
		return
	}
	d.other = taken.Holder.Identity
	d.story.Notice(taken.Holder.Describe() + " drives the cluster; looking on")
}

// meet gets ready for the TidbCluster of today. One that was made anew under the
// same name is another cluster, and nothing that was made for the old one may be
// used on it.
func (d *driver) meet(c topology.Cluster) {
	if d.engine.Actor != nil && c.UID == d.cluster.UID {
		return
	}
	d.letGo()
	d.cluster = c
	d.bid = lease.NewBid(d.home.Kube, c, lease.Self()).Yielding()
	d.engine.Actor = act.New(d.home.Kube, d.home.Intent, d.observer.PD, c, d.home.now)
	d.engine.Recorder = act.NewRecorder(owned{d}, d.observer.Existing)
}

// own makes this process the driver of the cluster. It implements
// reconcile.Engine.Own.
func (d *driver) own(ctx context.Context) (context.Context, error) {
	if d.held == nil && d.home.now().Sub(d.yielded) < giveWay {
		return nil, d.elsewhere(lease.Holder{Identity: d.other})
	}
	if d.held == nil {
		if by := d.home.operator.driving(ctx, d.key.Namespace); by != "" {
			return nil, d.elsewhere(lease.Holder{Identity: by})
		}
		// For as long as the daemon lives, not for this turn.
		held, err := d.bid.Try(d.home.life)
		if err != nil {
			return nil, err
		}
		d.held = held
		d.home.Meter.Held(d.key, true)
		context.AfterFunc(held.Context(), func() {
			d.home.Meter.Held(d.key, false)
			d.home.queue.Add(d.key)
		})
	}
	return d.held.Context(), context.Cause(d.held.Context())
}

// Guard implements reconcile.Lease. Without a lease there is nothing to write but
// the status, which is for owned to see to.
func (d *driver) Guard(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.held == nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return d.held.Guard(ctx)
}

// elsewhere is the error of a cluster that somebody else drives.
func (d *driver) elsewhere(by lease.Holder) error {
	return &lease.HeldError{Alive: true, Namespace: d.key.Namespace, Name: d.key.Name, Holder: by}
}

// letGo gives the lease back, if there is one.
func (d *driver) letGo() {
	if d.held == nil {
		return
	}
	if err := d.held.Release(); err != nil {
		d.story.Notice(err.Error())
	}
	d.held = nil
}

// settle says how long a plan may be left alone. A lease is kept while something is
// awaited: what is temporary is to be taken back by who made it.
func (d *driver) settle(p plan.Plan) time.Duration {
	now := d.home.now()
	switch p.Outcome {
	case plan.Act:
		d.stir(now)
		d.pause() // in a long queue it may take a while until the next turn
		return 0
	case plan.Wait:
		d.stir(now)
		return reconcile.Pause(p, now, lookAgain)
	case plan.Blocked:
		d.stir(now)
		return jitter(lookAgain)
	}
	if !d.begun.IsZero() {
		outcome := map[plan.Outcome]string{plan.Converged: event.OutcomeConverged, plan.Paused: event.OutcomePaused}[p.Outcome]
		d.story.Done(outcome, 0, now.Sub(d.begun), nil)
		d.begun = time.Time{}
	}
	d.pause()
	d.observer.Rest()
	return jitter(d.home.Poll)
}

// stir: there is something to do.
func (d *driver) stir(now time.Time) {
	if d.begun.IsZero() {
		d.begun = now
	}
}

// pause: there is nothing to do for the moment.
func (d *driver) pause() {
	if d.held != nil {
		d.held.Rest()
	}
}

// stop takes back what is temporary and lets go of the cluster.
func (d *driver) stop(ctx context.Context) error {
	defer d.observer.Close()
	if d.held != nil && !d.held.Use() {
		d.letGo()
	}
	if d.held == nil && !d.begun.IsZero() {
		d.held, _ = d.bid.Try(ctx) // whoever has it goes on with the cluster
	}
	if d.held == nil {
		return nil
	}
	defer d.letGo()
	ctx, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if err := d.engine.Undo(ctx); err != nil {
		return fmt.Errorf("%s: take back what is temporary: %w", d.key, err)
	}
	return nil
}

// owned writes the status of a cluster only as its driver. Otherwise the driver
// does so.
type owned struct{ d *driver }

// Load implements act.Intent.
func (o owned) Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error) {
	return o.d.home.Intent.Load(ctx, namespace, name)
}

// PatchStatus implements act.StatusWriter.
func (o owned) PatchStatus(ctx context.Context, namespace, name string, patch []byte) error {
	if _, err := o.d.own(ctx); isHeld(err) {
		return nil
	} else if err != nil {
		return err
	}
	return o.d.home.Intent.PatchStatus(ctx, namespace, name, patch)
}

func isHeld(err error) bool {
	_, held := errors.AsType[*lease.HeldError](err)
	return held
}

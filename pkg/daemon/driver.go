package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

const (
	// heldPause is when to look again at a cluster that another one drives.
	heldPause = 3 * time.Second
	// upkeepAtOnce is how many small corrections of one cluster are made at once.
	upkeepAtOnce = 4
	// connected is how soon a cluster is to be looked at again for its connections to
	// be kept. They are half a dozen, with more memory than all the mirror has of it,
	// and a thousand clusters may wait for their pods.
	connected = 2 * time.Second
)

// driver is one cluster that the daemon looks after. One worker has it at a time.
type driver struct {
	key      cache.ObjectName
	home     *Daemon
	observer *observe.Observer
	tenant   *Tenant
	story    *reconcile.Story
	tenures  tenures // what is told of the lease
	target   lease.Target
	last     plan.Plan // of the last turn
	seen     string    // the version of the TidbCluster that this turn is about
	echo     echo      // the status that was written last
	// unrecorded: the status is to be written in so long, when it differs still.
	unrecorded time.Duration
}

func (d *Daemon) newDriver(key cache.ObjectName) *driver {
	dr := &driver{key: key, home: d}
	dr.tenures.tell = func(held bool) { d.Meter.Held(key, held) }
	dr.observer = d.Observer(key.Namespace, key.Name)
	dr.observer.Mirror(d.mirror.of(key))
	if d.PD != nil {
		dr.observer.Told(func(call string, took time.Duration, err error) { d.PD(key, call, took, err) })
	}
	dr.observer.Tend(d.Resync)
	dr.story = reconcile.NewStory(key.Namespace, key.Name, d.Now, d.reporter(key)).Endless()
	t := NewTenant(d.life, dr.observer, d.Now)
	t.Poll, t.Resync, t.Jitter = d.Poll, d.Resync, jitter
	t.Operator = dr.operator
	t.Taken, t.Gives, t.Rests = dr.taken, func(held *lease.Held) { dr.tenures.end(held) }, dr.observer.Close
	d.Look(&t.Engine, d.Policy, dr.story, upkeepAtOnce)
	dr.tenant = t
	return dr
}

// operator names a tidb-operator that drives the cluster, "" when none does.
func (d *driver) operator(ctx context.Context) (string, error) {
	if d.home.TakeOver {
		return "", nil
	}
	by, notices, err := d.home.operator.driving(ctx, d.target)
	for _, text := range notices {
		d.story.Notice(text)
	}
	return by, err
}

// turn takes one turn, and says when the next one is due if nothing happens
// before.
func (d *driver) turn(ctx context.Context) (plan.Plan, time.Duration, error) {
	tc, err := d.home.mirror.of(d.key).Intent(ctx)
	if err != nil {
		return plan.Plan{}, 0, err
	}
	d.target = lease.Target{Namespace: tc.Namespace, Labels: tc.Labels}
	d.meet(topology.New(tc))
	if d.echo.pending(tc, d.home.now()) {
		// What was decided would be decided again, and could not be recorded.
		return d.last, d.home.gathering(), nil
	}
	d.seen, d.unrecorded = tc.ResourceVersion, 0
	p, pause, err := d.tenant.Turn(ctx)
	if err != nil {
		return p, pause, err
	}
	d.last = plan.Plan{Outcome: p.Outcome, Gates: p.Gates} // steps have whole objects in them
	if d.unrecorded > 0 {
		pause = min(pause, d.unrecorded)
	}
	if pause+d.home.busy() > connected {
		d.observer.Close()
	}
	return p, max(pause, d.home.gathering()), nil
}

// meet gets ready for the TidbCluster of today. One that was recreated under the
// same name is another cluster, and nothing that was made for the old one may be
// used on it.
func (d *driver) meet(c topology.Cluster) {
	t := d.tenant
	if t.Engine.Actor != nil && c.UID == t.Cluster.UID {
		return
	}
	t.LetGo()
	c.Source, c.Written = nil, nil // it is kept for long, and each observation has its own
	t.Cluster = c
	t.Bid = lease.NewBid(d.home.Kube, c, lease.Self()).Yielding()
	d.home.Drive(&t.Engine, d.observer, c, owned{d})
	t.Engine.Recorder = paced{t.Engine.Recorder, d}
}

// taken: the cluster is ours to drive from now on, and to be looked at when it is
// not any more.
func (d *driver) taken(held *lease.Held) {
	d.tenures.begin(held)
	context.AfterFunc(held.Context(), func() { d.over(held) })
}

// over: a lease has ended. If nobody knew, somebody has to see what that means,
// unless it was given back for want of something to do.
func (d *driver) over(held *lease.Held) {
	if d.tenures.end(held) && !errors.Is(context.Cause(held.Context()), lease.ErrRested) {
		d.home.queue.Add(d.key)
	}
}

// stop takes back what is temporary and lets go of the cluster.
func (d *driver) stop(ctx context.Context) error {
	defer d.observer.Close()
	if err := d.tenant.Stop(ctx); err != nil {
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
	if _, err := o.d.tenant.Own(ctx); isHeld(err) {
		return nil
	} else if err != nil {
		return err
	}
	o.d.echo.wrote(o.d.seen, o.d.home.now()) // before the watch can tell of it
	err := o.d.home.Intent.PatchStatus(ctx, namespace, name, patch)
	if err != nil {
		o.d.echo.wrote("", time.Time{})
		o.d.home.queue.AddAfter(o.d.key, o.d.home.gathering()) // for what was taken for it meanwhile
	}
	return err
}

func isHeld(err error) bool {
	_, held := errors.AsType[*lease.HeldError](err)
	return held
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// heldPause is the pause between two turns of a cluster that another process
	// drives.
	heldPause = 3 * time.Second
	// upkeepAtOnce is how many steps of upkeep are taken at the same time for one
	// cluster.
	upkeepAtOnce = 4
	// connected is the longest pause over which the connections to a cluster are
	// kept. They are about six, with more memory than the mirror needs for the
	// cluster, and a thousand clusters may wait for their pods.
	connected = 2 * time.Second
)

// driver drives one cluster. At most one worker uses it at a time.
type driver struct {
	key         cache.ObjectName
	daemon      *Daemon
	observer    *observe.Observer
	loop        *Loop
	progress    *reconcile.Progress
	leaseReport leaseReport // reports to the Meter whether the lease is held
	target      lease.Target
	last        plan.Plan // of the last turn
	seen        string    // the resourceVersion of the TidbCluster in this turn
	ownWrite    ownWrite  // the last write of the status
	// unrecorded is when the status is to be written, if it still differs then; 0
	// when nothing is left to write.
	unrecorded time.Duration
}

func (d *Daemon) newDriver(key cache.ObjectName) *driver {
	dr := &driver{key: key, daemon: d}
	dr.leaseReport.report = func(held bool) { d.Meter.Held(key, held) }
	dr.observer = d.Observer(key.Namespace, key.Name)
	dr.observer.Mirror(d.mirror.sourceOf(key))
	if d.PD != nil {
		dr.observer.OnPDCall(func(call string, took time.Duration, err error) { d.PD(key, call, took, err) })
	}
	dr.observer.ReadForUpkeep(d.Resync)
	dr.progress = reconcile.NewProgress(key.Namespace, key.Name, d.Now, d.reporter(key)).Endless()
	t := NewLoop(d.lifetime, dr.observer, d.Now)
	t.Poll, t.Resync, t.Jitter = d.Poll, d.Resync, jitter
	t.Operator = dr.operator
	t.OnTaken, t.BeforeRelease, t.OnIdle = dr.taken, func(held *lease.Held) { dr.leaseReport.end(held) }, dr.observer.Close
	d.Follow(&t.Engine, d.Policy, dr.progress, upkeepAtOnce)
	dr.loop = t
	return dr
}

// operator names a tidb-operator that drives the cluster, "" when none does.
func (d *driver) operator(ctx context.Context) (string, error) {
	if d.daemon.TakeOver {
		return "", nil
	}
	by, notices, err := d.daemon.operator.driving(ctx, d.target)
	for _, n := range notices {
		d.progress.Notice(n.Reason, n.Text)
	}
	return by, err
}

// turn takes one turn, and returns when the next one is due if nothing happens
// before.
func (d *driver) turn(ctx context.Context) (plan.Plan, time.Duration, error) {
	tc, err := d.daemon.mirror.sourceOf(d.key).Intent(ctx)
	if err != nil {
		return plan.Plan{}, 0, err
	}
	d.target = lease.Target{Namespace: tc.Namespace, Labels: tc.Labels}
	d.setCluster(topology.New(tc))
	if d.ownWrite.pending(tc, d.daemon.now()) {
		// The mirror does not show our last write yet: a turn would decide the same
		// again, and its status write would be a conflict.
		return d.last, d.daemon.gathering(), nil
	}
	d.seen, d.unrecorded = tc.ResourceVersion, 0
	p, pause, err := d.loop.Turn(ctx)
	if err != nil {
		return p, pause, err
	}
	d.last = plan.Plan{Outcome: p.Outcome, Gates: p.Gates} // steps have whole objects in them
	if d.unrecorded > 0 {
		pause = min(pause, d.unrecorded)
	}
	if pause+d.daemon.busy() > connected {
		d.observer.Close()
	}
	return p, max(pause, d.daemon.gathering()), nil
}

// setCluster prepares for the TidbCluster that exists now. A TidbCluster that was recreated under the same name is
// another cluster. Nothing that was made for the old TidbCluster may be used on the new.
func (d *driver) setCluster(c topology.Cluster) {
	t := d.loop
	if t.Engine.Actor != nil && c.UID == t.Cluster.UID {
		return
	}
	t.Release()
	c.Source, c.Written = nil, nil // this copy is kept for long, and each observation reads its own
	t.Cluster = c
	t.Bid = lease.NewBid(d.daemon.Kube, c, lease.Self()).Yielding()
	d.daemon.Drive(&t.Engine, d.observer, c, driverStatus{d})
	t.Engine.Recorder = pacedRecorder{t.Engine.Recorder, d}
}

// taken reports that this process drives the cluster, and lets over be called when the lease ends.
func (d *driver) taken(held *lease.Held) {
	d.leaseReport.begin(held)
	context.AfterFunc(held.Context(), func() { d.leaseEnded(held) })
}

// leaseEnded is called when a lease has ended. Unless that was known before, or the lease
// was released since it was idle, the cluster gets a turn, which finds out why.
func (d *driver) leaseEnded(held *lease.Held) {
	if d.leaseReport.end(held) && !errors.Is(context.Cause(held.Context()), lease.ErrIdle) {
		d.daemon.queue.Add(d.key)
	}
}

// stop takes back temporary changes in PD and stops to drive the cluster.
func (d *driver) stop(ctx context.Context) error {
	defer d.observer.Close()
	if err := d.loop.Stop(ctx); err != nil {
		return fmt.Errorf("%s: take back what is temporary: %w", d.key, err)
	}
	return nil
}

// driverStatus writes the status of a cluster only while this process drives it.
// Otherwise the driver writes it, and two writers would overwrite each other.
type driverStatus struct{ d *driver }

// Load implements act.Intent.
func (o driverStatus) Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error) {
	return o.d.daemon.Intent.Load(ctx, namespace, name)
}

// PatchStatus implements act.StatusWriter.
func (o driverStatus) PatchStatus(ctx context.Context, namespace, name string, patch []byte) error {
	if _, err := o.d.loop.Own(ctx); isHeld(err) {
		return nil
	} else if err != nil {
		return err
	}
	o.d.ownWrite.begin(o.d.seen, o.d.daemon.now()) // before the watch can report it
	err := o.d.daemon.Intent.PatchStatus(ctx, namespace, name, patch)
	if err != nil {
		o.d.ownWrite.begin("", time.Time{})
		o.d.daemon.queue.AddAfter(o.d.key, o.d.daemon.gathering()) // a change by another process may have been mistaken for this write
	}
	return err
}

func isHeld(err error) bool {
	_, held := errors.AsType[*lease.HeldError](err)
	return held
}

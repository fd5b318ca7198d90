package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/resident"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

const (
	// gather is how long the daemon collects changes of a cluster's objects before it takes a turn. A pod that
	// starts makes several changes, and so does one of our own steps. The time is gatherMore longer for each cluster
	// that waits for a turn, up to gatherMost. So under load there are fewer turns and no long queue.
	gather, gatherMore, gatherMost = 100 * time.Millisecond, 10 * time.Millisecond, time.Second
	// firstRetry and lastRetry bound the pause after a turn that failed, which
	// doubles from one to the next.
	firstRetry, lastRetry = 250 * time.Millisecond, time.Minute
	// finalPause is the pause after an error that only a person can solve.
	finalPause = 5 * time.Minute
)

// Config is what a daemon needs.
type Config struct {
	// Connections reach the clusters. If Dialer is nil, pods are connected to directly, at the
	// addresses in the mirror, so that this takes no request either. If Now is nil, it is the
	// process's own time.
	start.Connections
	// Connect makes the connections to pods where Dialer is nil; nil stands for TCP.
	Connect dial.Connect

	Scope  Scope
	Policy plan.Policy
	// TakeOver drives clusters even if a tidb-operator seems to drive them.
	TakeOver bool
	// Workers is how many clusters take a turn at the same time.
	Workers int
	// Poll is how often the members of a converged cluster are asked. It bounds how late the
	// daemon sees a member that is lost while its pod looks healthy.
	Poll time.Duration
	// Resync is how often a cluster is read from the API server instead of the mirror.
	Resync time.Duration

	// Reporter makes the reporter of a cluster's events.
	Reporter func(cache.ObjectName) reconcile.Reporter
	// Announcer receives the same events, with the TidbCluster that they are about; nil for none.
	Announcer Announcer
	Meter     Meter
	// Queue counts what goes through the work queue; nil for no counts.
	Queue workqueue.MetricsProvider
	// PD is called after each call of a cluster's PD, and may not block; nil for none.
	PD func(cluster cache.ObjectName, call string, took time.Duration, err error)
}

// Meter receives the numbers of a daemon. It may not block.
type Meter interface {
	// Turn is called when a turn has ended. The outcome is that of the plan, "held" when another
	// process drives the cluster, or "error".
	Turn(cluster cache.ObjectName, outcome string, took time.Duration)
	// Gates receives what a cluster waits for now.
	Gates(cluster cache.ObjectName, gates []plan.Gate)
	// Held receives whether this process drives the cluster.
	Held(cluster cache.ObjectName, held bool)
	// Gone is called when the cluster does not exist any more.
	Gone(cluster cache.ObjectName)
}

// Daemon keeps clusters converged.
type Daemon struct {
	Config
	lifetime context.Context
	now      func() time.Time
	mirror   *mirror
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	order    *order // of the queue
	operator *operator

	mu      sync.Mutex
	drivers map[cache.ObjectName]*driver
	turns   map[cache.ObjectName]time.Time // turns that have not ended, and when they began
	synced  bool
}

// New returns a daemon that does nothing before Run.
func New(c Config) (*Daemon, error) {
	m, err := newMirror(c.Kube, c.Intent, c.Scope)
	if err != nil {
		return nil, err
	}
	if c.Dialer == nil {
		c.Dialer = dial.DirectFrom(m.pod, c.Connect)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.AllowsPart = m.allowsPart
	d := &Daemon{
		Config: c, now: time.Now, mirror: m, order: newOrder(), operator: newOperator(c.Kube, time.Now),
		drivers: map[cache.ObjectName]*driver{}, turns: map[cache.ObjectName]time.Time{},
	}
	d.queue = workQueue(d.order, c.Queue)
	return d, d.listen()
}

func workQueue(o *order, counted workqueue.MetricsProvider) workqueue.TypedRateLimitingInterface[cache.ObjectName] {
	const name = "tidbclusters"
	type key = cache.ObjectName
	ordered := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, MetricsProvider: counted, Queue: o})
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[key](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, MetricsProvider: counted,
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{
				Name: name, MetricsProvider: counted, Queue: ordered,
			}),
		})
}

// Run keeps the clusters converged until ctx ends. It then ends at a safe point. Each turn ends after its current
// step, and temporary changes in PD are taken back before the leases are released.
func (d *Daemon) Run(ctx context.Context) error {
	d.lifetime = ctx
	defer resident.Waits(heapGrowth, 0)()
	if err := d.mirror.start(ctx); err != nil {
		return err
	}
	d.mu.Lock()
	d.synced = true
	d.mu.Unlock()
	var workers sync.WaitGroup
	for range max(1, d.Workers) {
		workers.Go(func() {
			for d.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	d.queue.ShutDown()
	workers.Wait()
	return d.stop(context.WithoutCancel(ctx))
}

// heapGrowth is by how many percent the heap may grow before the garbage collector runs. Nearly all of the memory is
// the mirror, which is kept for long.
const heapGrowth = 75

// stop stops to drive all clusters.
func (d *Daemon) stop(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(max(1, d.Workers))
	var mu sync.Mutex
	var failed []error
	for _, dr := range d.drivers {
		all.Go(func() error {
			if err := dr.stop(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
			return nil
		})
	}
	_ = all.Wait()
	return errors.Join(failed...)
}

// listen puts a cluster on the queue whenever one of its objects changes.
func (d *Daemon) listen() error {
	_, err := d.mirror.clusters.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: d.queueAtOnce, DeleteFunc: d.queueAtOnce,
		UpdateFunc: func(old, obj any) {
			switch {
			case !onlyStatusChanged(old, obj):
				d.queueAtOnce(obj)
			case !d.isOwnWrite(old, obj):
				d.queueForTurn(obj)
			}
		},
	})
	errs := []error{err}
	for _, i := range d.mirror.objects() {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: d.queueForTurn, UpdateFunc: func(_, obj any) { d.queueForTurn(obj) }, DeleteFunc: d.queueForTurn,
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// onlyStatusChanged reports whether only the status has changed. This driver or another one writes it, and
// users do not.
func onlyStatusChanged(old, obj any) bool {
	before, ok := old.(*wanted)
	after, ok2 := obj.(*wanted)
	return ok && ok2 && before.digest == after.digest
}

// isOwnWrite reports whether a change is only the status that this process has just written. It
// needs no turn.
func (d *Daemon) isOwnWrite(old, obj any) bool {
	before, after := old.(*wanted), obj.(*wanted)
	d.mu.Lock()
	dr := d.drivers[cache.NewObjectName(after.namespace.Value(), after.name)]
	d.mu.Unlock()
	return dr != nil && dr.ownWrite.matches(before, after)
}

// queueAtOnce puts a cluster on the queue whose spec has changed: at once, and first.
func (d *Daemon) queueAtOnce(obj any) {
	if isForeign(obj) && !d.drove(obj) {
		return
	}
	if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
		d.order.prefer(key)
		d.queue.Add(key)
	}
}

// drove reports whether a cluster that is in another shard was in this shard before. What is kept of such a cluster
// has to be dropped.
func (d *Daemon) drove(obj any) bool {
	key, err := cache.DeletionHandlingObjectToName(obj)
	d.mu.Lock()
	defer d.mu.Unlock()
	return err == nil && d.drivers[key] != nil
}

// queueForTurn puts the cluster of a changed object on the queue for a turn, after a moment in which more changes
// are collected.
func (d *Daemon) queueForTurn(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	of, err := clusterOf(obj)
	if err != nil || len(of) == 0 {
		return
	}
	keys, _ := d.mirror.clusters.GetIndexer().IndexKeys(byCluster, of[0])
	for _, k := range keys {
		if name, err := cache.ParseObjectName(k); err == nil {
			d.queue.AddAfter(name, d.gathering())
		}
	}
}

// gathering returns how long changes are collected at the current load.
func (d *Daemon) gathering() time.Duration {
	return min(gather+d.busy(), gatherMost)
}

// busy returns about how long a cluster waits for its turn now.
func (d *Daemon) busy() time.Duration { return time.Duration(d.queue.Len()) * gatherMore }

// work takes one turn of one cluster. It returns false when the queue has shut down.
func (d *Daemon) work(ctx context.Context) bool {
	key, over := d.queue.Get()
	if over {
		return false
	}
	defer d.queue.Done(key)
	begun := d.now()
	d.mu.Lock()
	dr := d.drivers[key]
	if dr == nil {
		dr = d.newDriver(key)
		d.drivers[key] = dr
	}
	d.turns[key] = begun
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.turns, key)
	}()
	p, pause, err := safely(func() (plan.Plan, time.Duration, error) { return dr.turn(ctx) })
	if ctx.Err() != nil {
		return true
	}
	d.Meter.Turn(key, outcome(p, err), d.now().Sub(begun))
	d.queueAgain(dr, p, pause, err)
	return true
}

// queueAgain puts the cluster on the queue for its next turn.
func (d *Daemon) queueAgain(dr *driver, p plan.Plan, pause time.Duration, err error) {
	gone := &intent.NotFoundError{}
	switch {
	case err == nil:
		d.queue.Forget(dr.key)
		d.Meter.Gates(dr.key, p.Gates)
		d.queue.AddAfter(dr.key, pause)
	case errors.As(err, &gone):
		d.forget(dr)
	case isHeld(err):
		d.queue.Forget(dr.key)
		d.queue.AddAfter(dr.key, jitter(heldPause))
	case reconcile.IsFinal(err):
		dr.progress.Failed(err)
		d.queue.AddAfter(dr.key, jitter(finalPause))
	default:
		dr.progress.Failed(err)
		d.queue.AddRateLimited(dr.key)
	}
}

// forget drops what is kept for a cluster that does not exist any more.
func (d *Daemon) forget(dr *driver) {
	d.mu.Lock()
	delete(d.drivers, dr.key)
	d.mu.Unlock()
	dr.loop.Release()
	dr.observer.Close()
	d.queue.Forget(dr.key)
	d.Meter.Gone(dr.key)
}

func outcome(p plan.Plan, err error) string {
	switch {
	case isHeld(err):
		return "held"
	case err != nil:
		return "error"
	}
	return p.Outcome.String()
}

// safely turns a panic into an error. So a defect that one cluster meets does not stop the daemon for all others.
func safely(turn func() (plan.Plan, time.Duration, error)) (p plan.Plan, pause time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("a bug: %v\n%s", r, debug.Stack())
		}
	}()
	return turn()
}

// jitter returns a pause that is up to a tenth shorter or longer. So clusters with the same pause do not all take a
// turn at once.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(max(d/5, 1))
}

// Ready fails until the mirror has its first copy of all objects.
func (d *Daemon) Ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.synced {
		return errors.New("the first copy of all objects is not complete yet")
	}
	return nil
}

// stuck is longer than any turn takes, since each step ends within a minute.
const stuck = 15 * time.Minute

// Healthy fails when a turn does not end.
func (d *Daemon) Healthy() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, since := range d.turns {
		if took := d.now().Sub(since); took > stuck {
			return fmt.Errorf("a turn of %s does not end: it has taken %s", key, took.Round(time.Second))
		}
	}
	return nil
}

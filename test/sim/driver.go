package sim

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// driver is one running engine and what it knows. There is one, or there are two for a while when a
// lease was lost. They take turns. Each runs until it waits, or until it pauses between looking and
// acting, and the engine that wakes first goes on.
type driver struct {
	version int // of the plugin
	owner   int // which run it is, by the records in the ledger
	wake    int64
	yield   func()
	next    func() bool // goes on with the engine; false when it has ended
	stop    func()
	finds   int64 // when it sees that another driver holds its lease
	lost    bool  // it has seen that, and may do nothing more

	still  still        // how long it has waited for the same
	memory memory       // what it remembers of earlier looks
	seen   sighting     // the truth when the engine last looked
	view   *observation // what it observed then
	cache  *observation // what a cache shows
	lag    int64        // until when the cache shows nothing new
	lagAll bool         // of Kubernetes as well as of the database
	late   int64        // when the engine runs out of time
	dead   bool         // the engine was killed: nothing it asks for happens
	abort  func(error)

	lease  *holding // nil if it uses finds and not the Lease
	daemon bool     // it is a replica of a daemon
	undoes bool     // the driver takes back what it has begun, unless it is killed
	asleep bool     // it is between two turns
	frozen int64    // until when its process stands still
	nap    nap      // how it stops in the middle of a step
	skew   int64    // how far its clock is ahead

	verdict []Violation // what the step that it takes breaks

	tenure context.Context // ends when it sees that another driver holds its lease
	expire func(error)

	plan plan.Plan
	err  error
}

// errLease ends a driver that sees that another driver holds its lease, as package lease does. Such a
// driver may not even clean up.
var errLease error = leaseLost{}

type leaseLost struct{}

func (leaseLost) Error() string  { return "the lease was lost" }
func (leaseLost) HandsOff() bool { return true }

// Guard implements reconcile.Lease.
func (d *driver) Guard(context.Context) (context.Context, context.CancelFunc) {
	return d.tenure, func() {}
}

// begin starts an engine that drives. The engine does nothing until it is its turn.
func (w *Model) begin(late int64) *driver {
	d := w.engage(late, func(ctx context.Context, e reconcile.Engine) (plan.Plan, error) {
		return reconcile.Run(ctx, e, pacer{w})
	})
	d.undoes = true
	return d
}

// engage starts an engine for what is to be run with it.
func (w *Model) engage(late int64, run func(context.Context, reconcile.Engine) (plan.Plan, error)) *driver {
	ctx, abort := context.WithCancelCause(context.Background())
	w.runs++
	d := &driver{owner: w.runs, wake: w.t, late: late, finds: never, abort: abort}
	d.tenure, d.expire = context.WithCancelCause(context.Background())
	engine := reconcile.Engine{
		Profiles: component.Profiles(), Policy: w.policy(), Observer: w, Want: w.want, Actor: w, Recorder: w, Lease: d,
		Progress: reconcile.NewProgress(w.cluster.Namespace, w.cluster.Name, w.Now, w.reporter()),
	}
	w.coroutine(d, func() { d.plan, d.err = run(ctx, engine) })
	return d
}

// coroutine makes a driver of a function that runs only within next, so that nothing
// here depends on a scheduler.
func (w *Model) coroutine(d *driver, run func()) {
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		d.yield = func() { d.dead = !yield(struct{}{}) || d.dead }
		run()
	})
	d.stop = stop
	d.next = func() bool {
		_, more := next()
		return more
	}
	d.version = w.anyVersion()
	w.drivers = append(w.drivers, d)
}

// drive lets engines take turns until the given engine has ended, or the engine that has its lease.
func (w *Model) drive(until *driver) *driver {
	idle := w.driver
	defer func() { w.driver = idle }()
	for {
		d := w.turn()
		w.driver = idle
		w.Pass(int(d.wake - w.t))
		w.driver = d
		if d.next() {
			continue
		}
		w.ended(d)
		switch awake := w.awake(); {
		case d == until && !d.lost, len(awake) == 0:
			return d
		case d == until, until.nap.asleep:
			until = awake[0]
		}
	}
}

// turn is the driver that wakes first.
func (w *Model) turn() *driver {
	first := w.drivers[0]
	for _, d := range w.drivers[1:] {
		if d.wake < first.wake || d.wake == first.wake && w.chance(0.5) {
			first = d
		}
	}
	return first
}

func (w *Model) ended(d *driver) {
	for i, o := range w.drivers {
		if o == d {
			w.drivers = append(w.drivers[:i:i], w.drivers[i+1:]...)
		}
	}
	w.judgeEnd(d)
	if d.err != nil {
		w.note("the engine ends: %v", d.err)
	} else {
		w.note("the engine ends: %s", d.plan.Outcome)
	}
}

// pause lets the current driver continue in some seconds. Others may act meanwhile.
func (w *Model) pause(seconds int64) {
	d := w.driver
	if d.yield == nil { // no driver runs: a test reads the state
		w.Pass(int(seconds))
		return
	}
	d.wake = w.t + seconds
	d.yield()
}

// pacer implements reconcile.Waiter on simulated time.
type pacer struct{ w *Model }

func (p pacer) Wait(ctx context.Context, next plan.Plan, err error) error {
	w := p.w
	d := w.driver
	w.judgeStandstill(next, err)
	if d.dead {
		return errKilled // no time passes for a process that is gone
	}
	d.asleep = true
	w.pause(w.between(poll, 3*poll))
	d.asleep = false
	switch {
	case w.chance(w.Faults.Stop):
		w.abort(errStopped)
	case w.chance(w.Faults.Kill):
		w.kill()
	}
	return ctx.Err()
}

// kill ends an engine as kill -9 would: it cannot clean up.
func (w *Model) kill() {
	w.note("fault: the engine is killed")
	for _, d := range w.atHand() {
		d.dead = true
		d.abort(errKilled)
	}
}

// Stop interrupts the engine, as the user would.
func (w *Model) Stop() {
	for _, d := range w.atHand() {
		d.abort(errStopped)
	}
}

// atHand is the driver whose turn it is, or all of them between two turns.
func (w *Model) atHand() []*driver {
	if w.abort != nil {
		return []*driver{w.driver}
	}
	return w.drivers
}

var (
	errStopped = errors.New("interrupted")
	errLate    = errors.New("out of simulated time")
)

// Drive runs an engine until it ends by itself or the given time is over. It is the engine that still
// holds the lease, or a new engine.
func (w *Model) Drive(most time.Duration) (plan.Plan, error) {
	late := w.t + int64(most/time.Second)
	w.yield()
	for w.operator != "" && w.t < late {
		w.Pass(1) // an engine that starts now only follows
	}
	var d *driver
	if awake := w.awake(); len(awake) > 0 {
		d = awake[len(awake)-1]
		d.late = late
	} else {
		d = w.begin(late)
	}
	d = w.drive(d)
	w.yield()
	if d.dead && w.killed != nil {
		w.killed()
	}
	return d.plan, d.err
}

// yield lets all engines end while a tidb-operator drives. A second engine is asked to end as well, and
// its requests do not wait until another engine is started.
func (w *Model) yield() {
	for w.operator != "" && len(w.awake()) > 0 {
		w.drive(w.awake()[0])
	}
}

// startRival starts a second engine, because the first could not renew its lease. The
// first continues until it sees that.
func (w *Model) startRival() {
	awake := w.awake()
	if len(awake) != 1 || w.Daemons > 0 || w.operator != "" {
		return
	}
	d := awake[0]
	d.finds = w.t + w.between(1, 90)
	w.note("fault: a second engine takes the lease, the first finds it out at %s", clock(d.finds))
	w.begin(d.late)
}

// tickLease lets drivers see that they have lost their lease.
func (w *Model) tickLease() {
	for _, d := range w.drivers {
		if w.t >= d.finds && !d.lost {
			d.lost = true
			d.expire(errLease)
			d.abort(errLease)
		}
	}
}

// endEngines ends the engines that still run, without a chance to clean up, but those that sleep.
func (w *Model) endEngines() {
	idle := w.driver
	defer func() { w.driver = idle }()
	var asleep []*driver
	for _, d := range w.drivers {
		if d.nap.asleep {
			asleep = append(asleep, d)
			continue
		}
		w.driver, d.dead = d, true
		d.abort(errKilled)
		d.stop()
	}
	w.drivers = asleep
}

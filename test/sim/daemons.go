package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/daemon"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

const (
	// pollEvery is how often a daemon asks PD while it waits for nothing in PD. lookPast is how
	// often a daemon reads live and not from its mirror.
	pollEvery, lookPast = time.Minute, 15 * time.Minute
	// firstPause and lastPause bound the pause after a turn that failed.
	firstPause, lastPause = 250 * time.Millisecond, time.Minute
	// heldPause is after how many seconds a daemon looks again at a cluster that another one
	// drives.
	heldPause = 10
)

// process makes a driver that uses the cluster's Lease. Its engine runs in the driver's turns.
func (w *Model) process(name string) *driver {
	w.runs++
	d := &driver{owner: w.runs, wake: w.t, late: never, finds: never}
	d.tenure = context.Background()
	d.lease = &holding{self: lease.Identity{User: name, Host: fmt.Sprintf("%s-%d", name, w.runs), PID: 1, Start: "1"}}
	if w.chaos {
		d.skew = w.rng.Int64N(48*3600) - 24*3600
	}
	return d
}

// now is the driver's clock.
func (d *driver) now(w *Model) func() time.Time {
	return func() time.Time { return w.at(w.t + d.skew) }
}

// launch begins another replica of the daemon.
func (w *Model) launch() {
	d := w.process("daemon")
	d.daemon = true
	life, abort := context.WithCancelCause(context.Background())
	d.abort = abort
	t := daemon.NewLoop(life, w, w.Now)
	t.Cluster, t.Bid = w.cluster, w.bid(d).Yielding()
	t.Poll, t.Resync, t.Jitter = pollEvery, lookPast, func(d time.Duration) time.Duration { return d }
	t.Operator = func(context.Context) (string, error) { return w.operator, nil }
	t.OnTaken, t.OnIdle = func(held *lease.Held) { w.took(d, held) }, func() {}
	t.Engine.Want, t.Engine.Profiles, t.Engine.Actor, t.Engine.Recorder = w.want, component.Profiles(), w, owned{w, t}
	t.Engine.Progress = reconcile.NewProgress(w.cluster.Namespace, w.cluster.Name, w.Now, traced{w}).Endless()
	w.coroutine(d, func() {
		w.serve(life, d, t)
		if !d.dead {
			d.err = t.Stop(context.WithoutCancel(life))
		}
	})
}

// serve takes turn after turn, with the pauses of the work queue.
func (w *Model) serve(life context.Context, d *driver, t *daemon.Loop) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[int](firstPause, lastPause)
	for life.Err() == nil {
		t.Engine.Policy = w.policyOfDaemon()
		p, pause, err := t.Turn(life)
		seconds := max(int64(pause/time.Second), 0)
		if err == nil {
			d.plan, w.planned = p, p
			limiter.Forget(0)
		}
		_, held := errors.AsType[*lease.HeldError](err)
		switch {
		case held:
			limiter.Forget(0)
			seconds = w.between(heldPause, 3*heldPause/2)
		case err != nil:
			seconds = int64(limiter.When(0)/time.Second) + 1
		case p.Outcome != plan.Act:
			seconds = w.nextWake(seconds)
		}
		d.asleep = true
		w.pause(seconds)
		d.asleep = false
		if w.chance(w.Faults.Stop) {
			w.note("fault: %s is asked to end", d.lease.self)
			d.abort(errStopped)
		}
	}
}

// nextWake returns after how many seconds a watch wakes the daemon. That is soon while the daemon
// waits for something, otherwise at a random time.
func (w *Model) nextWake(seconds int64) int64 {
	if seconds < int64(pollEvery/time.Second) {
		return w.between(poll, 3*poll)
	}
	if w.chaos && w.rng.IntN(2) == 0 {
		return w.between(poll, seconds)
	}
	return seconds
}

// runUntil lets processes take turns until a time comes.
func (w *Model) runUntil(until int64) {
	idle := w.driver
	defer func() { w.driver = idle }()
	for {
		w.driver = idle
		if len(w.drivers) == 0 || w.turn().wake > w.t {
			if w.t >= until {
				return
			}
			w.Pass(1) // which may wake a driver
			continue
		}
		d := w.turn()
		w.driver = d
		if d.next() {
			continue
		}
		w.ended(d)
		if d.daemon && !w.closing {
			w.vacancies = append(w.vacancies, w.t+w.between(5, 60))
		}
	}
}

// tickDaemons does what happens to processes in a second: leases are renewed, and Kubernetes starts
// replicas.
func (w *Model) tickDaemons() {
	if w.Daemons == 0 {
		return
	}
	w.renew()
	for i, at := range w.vacancies {
		if w.t >= at {
			w.vacancies = append(w.vacancies[:i:i], w.vacancies[i+1:]...)
			w.launch()
			return
		}
	}
}

// command is a foreground command beside the daemons. It waits for the lease, and asks for it if
// asks is set.
func (w *Model) command(asks bool) {
	d := w.process("command")
	ctx, abort := context.WithCancelCause(context.Background())
	d.abort, d.late = abort, w.t+w.between(300, 1200)
	w.note("user: runs a command beside the daemons, with wishes of its own: %t", asks)
	w.coroutine(d, func() {
		held := w.await(ctx, d, asks)
		if held == nil {
			d.err = errors.New("another driver has the lease")
			return
		}
		w.took(d, held)
		engine := reconcile.Engine{
			Profiles: component.Profiles(), Policy: w.policyOfDaemon(), Observer: w, Want: w.want, Actor: w, Recorder: w, Lease: held,
			Progress: reconcile.NewProgress(w.cluster.Namespace, w.cluster.Name, w.Now, w.reporter()),
		}
		d.plan, d.err = reconcile.Run(held.Context(), engine, pacer{w})
		_ = held.Release()
	})
}

// await returns the lease as soon as it is free, nil if that takes too long.
func (w *Model) await(ctx context.Context, d *driver, asks bool) *lease.Held {
	bid := w.bid(d)
	for until := min(d.late, w.t+60); w.t < until && ctx.Err() == nil; {
		held, err := bid.Try(ctx)
		if err == nil {
			return held
		}
		if other, taken := errors.AsType[*lease.HeldError](err); taken && other.Alive && asks {
			asks = lease.Ask(ctx, api{w: w, d: d}, w.cluster, d.lease.self) != nil
		}
		w.pause(1)
	}
	return nil
}

package sim

import (
	"context"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// deploy begins the daemon, unless it has begun.
func (w *Model) deploy() {
	w.closing = false
	for ; w.replicas < w.Daemons; w.replicas++ {
		w.launch()
	}
}

// settleDaemons waits until the cluster has converged under the daemons. What prevents
// that, and what they change afterwards, it reports as a violation.
func (w *Model) settleDaemons(most time.Duration) {
	w.deploy()
	late, helped := w.t+int64(most/time.Second), w.t
	for !w.converged() {
		if w.t >= late {
			w.broke("stuck", "%s", gates(w.planned))
			return
		}
		w.runUntil(w.t + 60)
		w.obey(w.planned)
		w.nameUnfit()
		if w.needsPerson() && w.t-helped >= int64(patient/time.Second) {
			w.help()
			helped = w.t
		}
	}
	w.rest()
	w.idle()
}

// converged reports whether there is nothing to do, by the truth.
func (w *Model) converged() bool {
	seen, _ := w.Observe(context.Background(), true)
	wanted := w.view.wanted
	return plan.Decide(component.Profiles(), w.policy(), wanted, seen.Snapshot).Outcome == plan.Converged
}

const (
	// grace is how long daemons may take to see that there is nothing to do.
	grace = 180
	// idling is how long they are watched then.
	idling = 600
)

// idle checks that daemons that have nothing to do hold no lease and write nothing. It checks that
// the cluster stays as it is.
func (w *Model) idle() {
	w.runUntil(w.t + grace)
	for _, d := range w.drivers {
		if d.lease.self.String() == holder(w.leaseObject) {
			w.broke("leak", "%s holds the lease of a cluster that wants nothing", holder(w.leaseObject))
		}
	}
	before := w.writes
	w.runUntil(w.t + idling)
	if n := w.writes - before; n > 0 {
		w.broke("idle", "%d writes for a cluster that wants nothing", n)
	}
	if !w.converged() {
		w.broke("restless", "%s", gates(w.planned))
	}
}

// close ends the daemons as Kubernetes does: each takes back what is temporary, and
// releases its lease.
func (w *Model) close() {
	w.closing, w.vacancies, w.replicas = true, nil, 0
	for _, d := range w.drivers {
		d.abort(errStopped)
		d.wake = w.t
	}
	w.runUntil(w.t + 60)
	if len(w.drivers) > 0 {
		w.broke("stuck", "%d processes do not end", len(w.drivers))
	}
	for _, d := range w.drivers {
		if d.lease.self.String() == holder(w.leaseObject) {
			w.broke("leak", "%s has kept the lease", holder(w.leaseObject))
		}
	}
}

// replica is any process that goes by the Lease, nil if there is none.
func (w *Model) replica() *driver {
	if w.Daemons == 0 || len(w.drivers) == 0 {
		return nil
	}
	return w.drivers[w.rng.IntN(len(w.drivers))]
}

// killProcess ends a process at any moment, as kill -9 or the end of its host does.
func (w *Model) killProcess() {
	if d := w.replica(); d != nil && !d.dead {
		w.note("fault: %s is killed", d.lease.self)
		d.dead = true
		d.abort(errKilled)
	}
}

// freeze stops a process between two turns, for longer than its lease lasts or not. Its
// renewal may continue before its next turn, or after.
func (w *Model) freeze() {
	d := w.replica()
	if d == nil || !d.asleep || d.dead {
		return
	}
	d.frozen = w.t + w.between(3, 120)
	d.wake = max(d.wake, d.frozen)
	if l := d.lease; l.due != never {
		l.due = max(l.due, d.frozen+w.rng.Int64N(4))
	}
	w.note("fault: %s stands still until %s", d.lease.self, clock(d.frozen))
}

// expire ends the watches of a daemon. Its mirror does not change until everything is listed again,
// and then changes at once.
func (w *Model) expire() {
	if d := w.replica(); d != nil && d.daemon {
		d.lag = w.t + w.between(10, 240)
		w.note("fault: the mirror of %s stands still until %s", d.lease.self, clock(d.lag))
	}
}

// outage takes the API server away. Nothing else in Kubernetes changes meanwhile.
func (w *Model) outage() {
	w.away = w.t + w.between(10, 90)
	w.note("fault: the API server is away until %s", clock(w.away))
}

// thaw ends the faults of processes.
func (w *Model) thaw() {
	w.away = 0
	for _, d := range w.drivers {
		d.lag = min(d.lag, w.t)
		d.wake = max(w.t, min(d.wake, w.t+60))
	}
}

// runCommand is a user who runs a command beside the daemons.
func (w *Model) runCommand() {
	if w.operator != "" {
		return // it would follow
	}
	for _, d := range w.drivers {
		if !d.daemon {
			return // one at a time
		}
	}
	w.command(w.rng.IntN(2) == 0)
}

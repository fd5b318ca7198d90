package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// kept returns a cluster that has converged and that two daemons drive.
func kept(t *testing.T) *Model {
	t.Helper()
	w := New(Options{PD: 3, TiKV: 3, TiDB: 2, Daemons: 2})
	w.Settle(time.Hour)
	w.Trace()
	return w
}

// ends fails the test unless the cluster converges, the daemons end, and no rule is broken.
func ends(t *testing.T, w *Model) {
	t.Helper()
	w.Settle(time.Hour)
	w.close()
	if w.endEngines(); len(w.Broken) > 0 {
		t.Errorf("%v\n%s", w.Broken, w.Transcript())
	}
}

// driving returns the process that the Lease names.
func (w *Model) driving() *driver {
	for _, d := range w.drivers {
		if d.lease.self.String() == holder(w.leaseObject) {
			return d
		}
	}
	return nil
}

// until runs the daemons until a condition holds.
func until(t *testing.T, w *Model, what string, holds func() bool) {
	t.Helper()
	for end := w.t + 3600; !holds(); w.runUntil(w.t + 1) {
		if w.t > end {
			t.Fatalf("never: %s\n%s", what, w.Transcript())
		}
	}
}

func evicting(w *Model) func() bool {
	return func() bool { return len(w.evicts) > 0 && w.driving() != nil }
}

// TestDaemonsEndPauses: one of the daemons ends a pause at its time, and they go on.
func TestDaemonsEndPauses(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2")
	until(t, w, "leaders are evicted", evicting(w))
	w.PauseFor(5 * time.Minute)
	end := w.Intent.PausedUntil
	until(t, w, "the pause has ended", func() bool { return !w.Intent.Paused })
	if late := w.t - end; late < 0 || late > 60 {
		t.Errorf("it ended %d s after its time\n%s", late, w.Transcript())
	}
	ends(t, w)
}

// A cluster is upgraded; after that the daemons write nothing.
func TestDaemons(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2")
	ends(t, w)
}

// The replica that drives is killed in the middle of an upgrade. The other one takes over when the
// Lease has not been renewed for its duration, whatever the clocks show.
func TestDaemonIsKilled(t *testing.T) {
	for _, skew := range []int64{0, -20000, 20000} {
		w := kept(t)
		w.drivers[0].skew = skew
		w.Upgrade("v2", topology.TiKV)
		until(t, w, "eviction", evicting(w))
		first, at := w.driving(), w.t
		first.dead = true
		first.abort(errKilled)
		until(t, w, "takeover", func() bool { return w.driving() != nil && w.driving() != first })
		if took := w.t - at; took < 10 || took > 45 {
			t.Errorf("took over after %d s\n%s", took, w.Transcript())
		}
		ends(t, w)
	}
}

// A process that was frozen sees that another one holds its lease, and does nothing, whether its
// renewal or its next turn runs first.
func TestDaemonStandsStill(t *testing.T) {
	for _, late := range []int64{0, 5} {
		w := kept(t)
		w.Upgrade("v2", topology.TiKV)
		first := (*driver)(nil)
		until(t, w, "eviction", func() bool { first = w.driving(); return evicting(w)() && first.asleep })
		first.frozen = w.t + 52
		first.wake, first.lease.due = first.frozen, first.frozen+late
		w.When(func(w *Model) bool { return w.t >= first.frozen-1 }, func() {
			w.Scale(topology.TiDB, 3) // so that there is something for it to do at once
		})
		until(t, w, "takeover", func() bool { return w.driving() != nil && w.driving() != first })
		ends(t, w)
	}
}

// A store cannot be restarted, since a peer is away for hours. It gets its leaders back when
// waiting does not help any more, and they are evicted again when the peer is back.
func TestDaemonStandsDown(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.halt(w.pods[tikv][0], 2*3600)
	w.runUntil(w.t + 5*60)
	if len(w.evicts) != 1 {
		t.Errorf("the peer may still come back\n%s", w.Transcript())
	}
	w.runUntil(w.t + 15*60)
	if len(w.evicts) > 0 {
		t.Errorf("the leaders of a store do not come back\n%s", w.Transcript())
	}
	evictions := func() int { return strings.Count(w.Transcript(), "evict region leaders from basic-tikv-2") }
	before := evictions()
	w.runUntil(w.t + 80*60)
	if n := evictions(); n != before {
		t.Errorf("evicted %d times more\n%s", n-before, w.Transcript())
	}
	w.runUntil(w.t + 20*60)
	ends(t, w)
}

// While the API server is away, no daemon drives; after that one does.
func TestAPIServerIsAway(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.away = w.t + 60
	steps := w.Soft.Steps
	w.runUntil(w.t + 59)
	if w.Soft.Steps > steps+1 {
		t.Errorf("%d steps in an outage\n%s", w.Soft.Steps-steps, w.Transcript())
	}
	ends(t, w)
}

// A mirror that shows nothing new costs at most time: disruptive steps are decided on live reads,
// and the API server refuses other steps that are outdated.
func TestMirrorStandsStill(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2")
	until(t, w, "eviction", evicting(w))
	for _, d := range w.drivers {
		d.lag = w.t + 240
	}
	ends(t, w)
}

// A daemon that is asked to end in the middle of an upgrade takes back what is
// temporary, releases its lease, and another one goes on at once.
func TestDaemonEnds(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.close()
	for _, e := range w.evicts {
		if e.ours {
			t.Error("a scheduler of ours is left")
		}
	}
	if len(w.ledger) > 0 || holder(w.leaseObject) != "" {
		t.Errorf("%d records, held by %q\n%s", len(w.ledger), holder(w.leaseObject), w.Transcript())
	}
	ends(t, w)
}

// A command with a change of its own asks the driving daemon for the lease. Then the command
// drives, and no daemon does before the command has ended.
func TestCommandAsksDaemons(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.command(true)
	command := w.drivers[len(w.drivers)-1]
	until(t, w, "the command drives", func() bool { return w.driving() == command })
	until(t, w, "the command ends", func() bool { return !slices.Contains(w.drivers, command) })
	if command.err != nil || command.plan.Outcome != plan.Converged || w.next(tikv) >= 0 {
		t.Errorf("%v\n%s", command.err, w.Transcript())
	}
	ends(t, w)
}

// A command without a change follows while a daemon drives, and drives itself when it is the first
// to find the lease free.
func TestCommandBesideDaemons(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.command(false)
	command := w.drivers[len(w.drivers)-1]
	w.runUntil(w.t + 50)
	if d := w.driving(); d == nil || d == command { // a lease may pass from one daemon to another
		t.Errorf("driven by %q\n%s", holder(w.leaseObject), w.Transcript())
	}
	ends(t, w)
}

// A lease whose acquisition got no answer, or that could not be released, is released later,
// although there is nothing to do.
func TestLeaseIsReleasedLater(t *testing.T) {
	t.Run("taken without an answer", func(t *testing.T) {
		w := kept(t)
		w.Upgrade("v2", topology.TiDB)
		w.chaos, w.Faults.LostAnswer = true, 1
		until(t, w, "taken", func() bool { return w.driving() != nil })
		w.chaos = false
		w.Upgrade("v1", topology.TiDB)
		ends(t, w)
		notInTranscript(t, w, "restart")
	})
	t.Run("not given back", func(t *testing.T) {
		w := kept(t)
		w.Upgrade("v2", topology.TiDB)
		w.When(func(w *Model) bool {
			s := &w.sets[tidb]
			return s.current == "v2" && s.spec.partition == 2
		}, func() { w.away = w.t + 40 })
		ends(t, w)
	})
}

// Violations of the rules for the Lease are found.
func TestLeaseRulesCanFail(t *testing.T) {
	for rule, spoil := range map[string]func(w *Model){
		"drivers": func(w *Model) {
			w.Upgrade("v2", topology.TiDB)
			w.OnStep("restart", func() { *w.leaseObject.Spec.HolderIdentity = "somebody else" })
			w.runUntil(w.t + 120)
		},
		"leak": func(w *Model) {
			name := w.drivers[0].lease.self.String()
			w.leaseObject.Spec.HolderIdentity = &name
			w.idle()
		},
		"idle": func(w *Model) {
			at := w.t + grace + 60
			w.When(func(w *Model) bool { return w.t >= at }, func() { w.drivers[0].cache, w.recorded = nil, 0 })
			w.idle()
		},
	} {
		t.Run(rule, func(t *testing.T) {
			w := kept(t)
			spoil(w)
			if len(w.Broken) == 0 || w.Broken[0].Rule != rule {
				t.Errorf("%v\n%s", w.Broken, w.Transcript())
			}
			w.endEngines()
		})
	}
}

// A tidb-operator that comes up while a daemon holds the lease drives the cluster from then on: the
// daemon takes back what is temporary, and does nothing until the operator is gone.
func TestOperatorComesUp(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2", topology.TiKV)
	until(t, w, "eviction", evicting(w))
	w.operator, w.cameAt, w.goesAt = "tidb-operator op-1 in namespace ops", w.t, never
	w.runUntil(w.t + 60)
	for id, e := range w.evicts {
		if e.ours {
			t.Errorf("our eviction of store %d goes on", id)
		}
	}
	if len(w.ledger) > 0 || holder(w.leaseObject) != "" {
		t.Errorf("%d records, held by %q\n%s", len(w.ledger), holder(w.leaseObject), w.Transcript())
	}
	steps := w.Soft.Steps
	w.runUntil(w.t + 600)
	if w.Soft.Steps > steps {
		t.Errorf("%d steps beside an operator\n%s", w.Soft.Steps-steps, w.Transcript())
	}
	w.operator = ""
	ends(t, w)
}

// A tidb-operator comes while a turn of many steps goes on, each of which may take a
// minute. The turn ends with the step that is under way. (seed 99602126)
func TestOperatorComesDuringATurn(t *testing.T) {
	w := kept(t)
	w.Upgrade("v2")
	steps := 0
	w.OnStep("update ConfigMap basic-pd", func() {
		w.operator, w.cameAt, w.goesAt = "tidb-operator op-1 in namespace ops", w.t, never
		steps = w.Soft.Steps
	})
	w.runUntil(w.t + 600)
	if steps == 0 || w.Soft.Steps > steps+1 {
		t.Errorf("%d steps beside an operator\n%s", w.Soft.Steps-steps-1, w.Transcript())
	}
	w.operator = ""
	ends(t, w)
}

package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

var ordered = [components]bool{true, true, true, true}

// With OrderedReady no pod is created after one that cannot start. That those pods are missing says
// nothing about the new template, and only the new template lets the first one start.
func TestOrderedBadImageAtCreation(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		w := New(Options{PD: 3, TiKV: 3, TiDB: 3, Ordered: ordered})
		w.Trace()
		w.Upgrade("v1-noimage", k)
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
			t.Errorf("%s: %s, %v\n%s", k, p.Outcome, err, w.Transcript())
		}
		w.Upgrade("v2", k)
		fine(t, w)
	}
}

// A bad image is taken back although Kubernetes does not replace the pod that
// cannot pull it.
func TestOrderedRollback(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2, Ordered: ordered})
	w.Upgrade("v2-noimage")
	_, _ = w.Drive(time.Hour)
	w.Upgrade("v1")
	fine(t, w)
	w.Scale(topology.TiKV, 5)
	w.Scale(topology.PD, 5)
	w.Upgrade("v3")
	fine(t, w)
	w.Scale(topology.TiKV, 3)
	w.Scale(topology.PD, 3)
	fine(t, w)
}

// Founders of PD are scaled away by hand before they have bootstrapped it. With OrderedReady they
// have no claims yet, and the member that is left waits for them.
func TestFoundersScaledAway(t *testing.T) {
	w := New(Options{PD: 3, TiKV: 3, TiDB: 1, Ordered: ordered})
	w.Trace()
	w.When(func(w *Model) bool { return w.pods[pd][0] != nil }, func() {
		spec := w.sets[pd].spec
		spec.replicas = 1
		w.change(&w.sets[pd], spec)
	})
	fine(t, w)
}

// With OrderedReady Kubernetes deletes no surplus pod while one that stays is not Ready. If that
// one does not become Ready, a gate asks a person to delete the surplus pod.
func TestOrderedScaleInAboveDeadMember(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1, Ordered: ordered})
	w.Scale(topology.TiKV, 4)
	w.OnStep("scale TiKV from 5 to 4", func() { w.halt(w.pods[tikv][3], 1500) })
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Blocked || !strings.Contains(gates(p), "only when basic-tikv-3 is ready") {
		t.Fatalf("%s, %v\n%s", gates(p), err, w.Transcript())
	}
	fine(t, w)
	if !inTranscript(w, "user: delete pod basic-tikv-4") {
		t.Error(w.Transcript())
	}
}

// The same, but nothing is lost with the member that is not Ready, and it is not wanted. It leaves
// as well, and no person is needed.
func TestOrderedScaleInAboveTombstone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1, Ordered: ordered})
	w.Scale(topology.TiKV, 3)
	w.OnStep("scale TiKV from 5 to 4", func() {
		w.stores[3].state = state.StoreTombstone // by a person
		w.wipe(w.stores[3])
		w.pods[tikv][3].ready = false
	})
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Converged || inTranscript(w, "user: delete pod basic-tikv-4") {
		t.Fatalf("%s, %v\n%s", gates(p), err, w.Transcript())
	}
}

// A StatefulSet is scaled in by hand, and Kubernetes does not do it: with OrderedReady it deletes
// no pod while a lower one is not Ready. The pod and its data still belong to a wanted member.
func TestOrderedKubectlScaleAboveDeadMember(t *testing.T) {
	for _, k := range []kind{tikv, tidb} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 3, Ordered: [components]bool{tikv: true, tidb: true}})
		w.halt(w.pods[k][0], 3000)
		last := w.sets[k].spec.replicas - 1
		uid := w.pods[k][last].uid
		spec := w.sets[k].spec
		spec.replicas = last
		w.change(&w.sets[k], spec)
		w.Pass(30)
		_, _ = w.Drive(10 * time.Minute)
		if p := w.pods[k][last]; w.sets[k].spec.replicas != last+1 || p == nil || p.uid != uid {
			t.Errorf("%s\n%s", kinds[k], w.Transcript())
		}
		w.Pass(3000)
		fine(t, w)
	}
}

// With OnDelete only the user deletes a pod that is stuck with an old template. The gate asks for
// that, and not only to look at the pod.
func TestManualStuckPod(t *testing.T) {
	for _, flaw := range []string{noImage, crashing, deaf} {
		for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
			w := settled(Options{})
			w.Manual(k)
			w.Upgrade("v2-"+flaw, k)
			w.OnStep("update StatefulSet", func() { w.remove(w.pods[kindOf(k)][1]) })
			_, _ = w.Drive(time.Hour)
			w.Pass(60)
			w.Upgrade("v3", k)
			fine(t, w)
			if !inTranscript(w, "user: delete pod basic-"+string(k)+"-1, as asked") {
				t.Errorf("%s %s: %s", k, flaw, w.Transcript())
			}
		}
	}
}

// With OnDelete a user who follows the first command of each gate restarts all members by their names, and no
// store loses its leaders at once.
func TestManualByName(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		w := settled(Options{ByName: true, PD: 3, TiKV: 4, TiDB: 2})
		w.Manual(k)
		w.Upgrade("v2", k)
		fine(t, w)
		if !inTranscript(w, "user: restart basic-"+string(k)+"-0") || inTranscript(w, "user: delete pod") || w.Soft.WithLeaders > 0 {
			t.Errorf("%s: %s", k, w.Transcript())
		}
	}
}

// The founders of a PD that never started all have to start, also those that are not wanted any
// more, so they are replaced as well.
func TestManualFounders(t *testing.T) {
	w := New(Options{PD: 5, TiKV: 3, TiDB: 1})
	w.Trace()
	w.Upgrade("v1-deaf", topology.PD)
	_, _ = w.Drive(10 * time.Minute)
	w.Manual(topology.PD)
	w.Scale(topology.PD, 2)
	w.Upgrade("v2", topology.PD)
	fine(t, w)
}

// A rollout that two engines drive for a while, because one has lost its lease
// and does not know, ends as if there had been one.
func TestTwoEngines(t *testing.T) {
	for _, at := range []string{"update StatefulSet", "evict region leaders from basic-tikv-2", "restart basic-tikv-2", "restart basic-pd-1"} {
		w := settled(Options{})
		w.Upgrade("v2")
		w.OnStep(at, func() {
			w.startRival()
			w.drivers[0].finds = w.t + 60
		})
		fine(t, w)
		if !inTranscript(w, "the engine ends: the lease was lost") || !inTranscript(w, "engine ") {
			t.Errorf("%s: %s", at, w.Transcript())
		}
	}
}

// An engine that sees that another one holds its lease changes nothing more: the other one ends
// what it began.
func TestLostLeaseUndoesNothing(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return len(w.evicts) > 0 }, func() {
		w.atHand()[0].finds = w.t
	})
	if _, err := w.Drive(time.Hour); err == nil || err.Error() != errLease.Error() {
		t.Fatalf("%v\n%s", err, w.Transcript())
	}
	if len(w.evicts) != 1 || len(w.ledger) != 1 {
		t.Error(w.Transcript())
	}
	fine(t, w)
}

// A store whose heartbeats PD has missed for a while still serves. Nothing is restarted
// beside it, and nothing because of it.
func TestLateHeartbeats(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Upgrade("v2", topology.TiKV)
	until := w.t + 300
	w.stores[0].muffled = until
	w.Pass(30)
	if p, err := w.Drive(2 * time.Minute); err == nil {
		t.Fatalf("%s\n%s", gates(p), w.Transcript())
	}
	notInTranscript(t, w, "restart")
	fine(t, w)
	if w.t < until {
		t.Error("the rollout did not wait for it")
	}
}

// A host is lost for good. The pod is Terminating until a person deletes it by
// force, and with its claim no other one can be scheduled.
func TestHostLostForGood(t *testing.T) {
	for _, k := range []kind{pd, tikv, tidb} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.loseForGood(k, 1)
		w.Pass(evicted + 1)
		if p := w.pods[k][1]; p == nil || !p.terminating() || p.ready {
			t.Fatalf("%s: %+v", kinds[k], p)
		}
		w.force(k, 1)
		w.Pass(120)
		if p := w.pods[k][1]; p.ready != (k.data() == topology.None) {
			t.Fatalf("%s: %+v", kinds[k], p)
		}
		w.pods[k][1].lost = never // so that the person gives up its data
		w.help()
		fine(t, w)
	}
}

// TestEachBlockedGateSaysWhatToDo: a blocked gate that does not say what to do breaks the rule
// "advice".
func TestEachBlockedGateSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		event event.Event
		want  int
	}{
		{event.Event{Type: event.Waiting}, 0},
		{event.Event{Type: event.Blocked, Remedy: []remedy.Advice{{Text: "help"}}}, 0},
		{event.Event{Type: event.Blocked}, 1},
	} {
		w := New(Options{PD: 1, TiKV: 1, TiDB: 1})
		if w.reporter().Report(c.event); len(w.Broken) != c.want {
			t.Errorf("%+v: %v", c.event, w.Broken)
		}
	}
}

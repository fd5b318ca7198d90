package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// founded returns a cluster whose first PD member starts late when PD is bootstrapped.
func founded(o Options, holdUp func(w *Model)) *Model {
	w := New(o)
	w.Trace()
	w.When(func(w *Model) bool { return w.claims[pd][0] != nil }, func() { holdUp(w) })
	return w
}

func late(seconds int64) func(w *Model) {
	return func(w *Model) { w.pods[pd][0].startAt = w.t + seconds }
}

// A first member whose pod starts when the others have bootstrapped PD without it starts as one of
// them: PD lists it, and would not let it join.
func TestFirstMemberIsLate(t *testing.T) {
	for name, seconds := range map[string]int64{"a little": 30, "very": 1800} {
		t.Run(name, func(t *testing.T) {
			w := founded(Options{PD: 3, TiKV: 3, TiDB: 1}, late(seconds))
			fine(t, w)
			if m := w.pd.memberAt(0); w.pd.bootstraps != 1 || !m.started || w.advice.founders.replicas != 0 {
				t.Errorf("%d bootstraps, %+v, %+v", w.pd.bootstraps, m, w.advice)
			}
			if !before(w, "create StatefulSet basic-tikv", "update ConfigMap basic-discovery") {
				t.Errorf("the others wait for it\n%s", w.Transcript())
			}
			notInTranscript(t, w, "give up")
		})
	}
}

// The run that created PD ends before it has changed the advice for late members, or before all
// have started. The next run continues.
func TestFirstMemberIsLateAndTheRunEnds(t *testing.T) {
	for name, end := range map[string]func(w *Model) bool{
		"before PD was heard":           func(w *Model) bool { return w.pd.id != 0 },
		"before the advice has changed": func(w *Model) bool { return w.recorded != 0 },
		"before it has come in":         func(w *Model) bool { return w.advice.judged },
	} {
		t.Run(name, func(t *testing.T) {
			w := founded(Options{PD: 3, TiKV: 3, TiDB: 1}, late(600))
			w.When(end, w.kill)
			_, _ = w.Drive(5 * time.Minute)
			w.Pass(900)
			fine(t, w)
		})
	}
}

// PD stops answering just when the cluster id becomes known. Which founders have yet to start is
// not known then, and the list of founders must be kept.
func TestFirstMemberIsLateAndPDIsSilent(t *testing.T) {
	w := founded(Options{PD: 3, TiKV: 3, TiDB: 1}, late(600))
	w.When(func(w *Model) bool { return w.recorded != 0 && !w.advice.judged }, func() { w.pd.silentUntil = w.t + 120 })
	fine(t, w)
}

// While a first member has not started, another one crashes: the late one is needed for a quorum.
func TestFirstMemberIsLateAndNeeded(t *testing.T) {
	w := founded(Options{PD: 3, TiKV: 3, TiDB: 1}, late(900))
	w.When(func(w *Model) bool { return w.advice.judged && w.pods[pd][0].startAt-w.t < 60 }, func() { w.lose(w.pods[pd][1], 1500) })
	w.When(func(w *Model) bool { return w.pd.memberAt(0) != nil && w.pd.memberAt(0).started }, func() {
		if w.t > 1000 {
			t.Errorf("it came at %s", w.clock())
		}
	})
	fine(t, w)
}

// A first member never starts, since the node of its volume is gone. The run waits for it until a
// person gives it up; then it is replaced. If it starts after all, it joins.
func TestFirstMemberNeverComes(t *testing.T) {
	w := founded(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true}, func(w *Model) { w.claims[pd][0].lost = true })
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked || !w.fit(tikv, 2) {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	notInTranscript(t, w, "give up")
	id := w.pd.memberAt(0).id
	w.AtOnce = true
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Converged || w.pd.member(id) != nil || w.aliveMembers() != 3 {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	w.claims[pd][0].lost = false
	w.Pass(120)
	fine(t, w)
}

// The user wants fewer members than PD was founded with, and the late one is among
// those that stay, or that go.
func TestFirstMemberIsLateAndFewerAreWanted(t *testing.T) {
	for name, i := range map[string]int{"it stays": 0, "it goes": 2} {
		t.Run(name, func(t *testing.T) {
			w := New(Options{PD: 3, TiKV: 3, TiDB: 1})
			w.Trace()
			w.When(func(w *Model) bool { return w.pods[pd][i] != nil }, func() { w.pods[pd][i].startAt = w.t + 900 })
			w.When(func(w *Model) bool { return w.advice.judged }, func() { w.Scale(topology.PD, 1) })
			fine(t, w)
		})
	}
}

// More members are asked for before PD has answered for the first time, and then PD is suspended.
// Their claims look like those of the member that has bootstrapped PD, but are empty: as founders,
// most of them would bootstrap another cluster. (seed 31177)
func TestMoreFirstMembersThanThereWere(t *testing.T) {
	w := New(Options{PD: 1, TiKV: 3, TiDB: 1})
	w.Trace()
	w.When(func(w *Model) bool { return w.sets[pd].exists }, func() {
		w.pd.silentUntil = w.t + 3600
		w.Scale(topology.PD, 4)
	})
	_, _ = w.Drive(10 * time.Minute)
	w.Suspend(kinds[:]...)
	_, _ = w.Drive(10 * time.Minute)
	w.Suspend()
	w.pd.silentUntil = 0
	fine(t, w)
}

// PD is suspended before most of its first members have a pod, and fewer are wanted then. The
// list of founders may change: they cannot have bootstrapped a cluster. (seed 2097)
func TestFewerFirstMembersThanThereWere(t *testing.T) {
	w := New(Options{PD: 5, TiKV: 3, TiDB: 1, Ordered: [components]bool{pd: true}})
	w.Trace()
	w.Upgrade("v1-noimage", topology.PD)
	_, _ = w.Drive(time.Minute)
	w.Suspend(kinds[:]...)
	_, _ = w.Drive(5 * time.Minute)
	w.Scale(topology.PD, 1)
	w.Upgrade("v1", topology.PD)
	w.Suspend()
	fine(t, w)
}

// All is suspended when only one of the first members has had a pod, which with OrderedReady is the
// first one. It starts with the names that it has read, and those members bootstrap PD, wanted or
// not. (seed 21979)
func TestSuspendedBeforeThereWereFounders(t *testing.T) {
	for _, wanted := range []int{1, 3, 5} {
		w := New(Options{PD: 3, TiKV: 3, TiDB: 1, Ordered: [components]bool{pd: true}})
		w.Trace()
		w.When(func(w *Model) bool { return w.pods[pd][0] != nil }, func() { w.pods[pd][0].startAt = w.t + 3600 })
		_, _ = w.Drive(10 * time.Minute)
		w.Suspend(kinds[:]...)
		_, _ = w.Drive(10 * time.Minute)
		if w.claims[pd][0] == nil || w.claims[pd][1] != nil || w.sets[pd].exists {
			t.Fatalf("this test shows nothing\n%s", w.Transcript())
		}
		w.Scale(topology.PD, wanted)
		w.Suspend()
		fine(t, w)
		if len(w.pd.members) != wanted {
			t.Errorf("%d members, want %d\n%s", len(w.pd.members), wanted, w.Transcript())
		}
	}
}

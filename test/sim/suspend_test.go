package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// before reports whether one text comes before another in the transcript.
func before(w *Model, first, then string) bool {
	a, b := strings.Index(w.Transcript(), first), strings.LastIndex(w.Transcript(), then)
	return a >= 0 && a < b
}

func suspendAndResume(t *testing.T, w *Model, meanwhile func()) {
	t.Helper()
	w.Suspend(kinds[:]...)
	fine(t, w)
	meanwhile()
	w.Suspend()
	fine(t, w)
}

func TestSuspend(t *testing.T) {
	t.Run("tidb-S13 a suspended cluster has converged", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
		suspendAndResume(t, w, func() {})
		inOrder(t, w, "delete StatefulSet basic-tidb", "delete StatefulSet basic-tikv", "delete StatefulSet basic-pd",
			"create StatefulSet basic-pd", "create StatefulSet basic-tikv", "create StatefulSet basic-tidb")
		if n := len(w.stores); n != 3 {
			t.Errorf("%d stores have been there, want 3", n)
		}
	})
	t.Run("pd-A15 in the middle of a rollout that fails", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.Upgrade("v2-noimage", topology.PD)
		_, _ = w.Drive(20 * time.Minute)
		suspendAndResume(t, w, func() { w.Upgrade("v1", topology.PD) })
	})
	t.Run("pd-A15 while leaders are being evicted", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.Upgrade("v2")
		w.OnStep("evict region leaders from basic-tikv-3", func() { w.kill() })
		_, _ = w.Drive(time.Hour)
		suspendAndResume(t, w, func() {})
		if !before(w, "allow region leaders on basic-tikv-3", "delete StatefulSet basic-pd") {
			t.Error(w.Transcript())
		}
	})
	t.Run("a scale-in goes on when it is resumed", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
		w.Scale(topology.TiKV, 3)
		w.When(func(w *Model) bool { return w.stores[3].state == state.StoreOffline }, w.kill)
		_, _ = w.Drive(time.Hour)
		w.stores[3].stays = w.t + 900 // longer than the suspension
		suspendAndResume(t, w, func() {
			if s := w.stores[3].state; s != state.StoreOffline {
				t.Fatalf("the store is %s, so nothing is left to go on with", s)
			}
		})
	})
}

// The number of replicas may change while no pod runs, and no store and no quorum is lost by that.
func TestReplicasWhileSuspended(t *testing.T) {
	t.Run("fewer", func(t *testing.T) {
		w := settled(Options{PD: 5, TiKV: 6, TiDB: 2})
		suspendAndResume(t, w, func() {
			w.Scale(topology.PD, 1)
			w.Scale(topology.TiKV, 3)
			w.Scale(topology.TiDB, 1)
		})
		if !inTranscript(w, "remove PD member basic-pd-4") || !inTranscript(w, "take store 6 of basic-tikv-5 offline") {
			t.Error(w.Transcript())
		}
	})
	t.Run("more", func(t *testing.T) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
		suspendAndResume(t, w, func() {
			w.Scale(topology.PD, 5)
			w.Scale(topology.TiKV, 5)
		})
		if !inTranscript(w, "scale PD from 3 to 4") {
			t.Error(w.Transcript())
		}
	})
	t.Run("fewer voters, in the middle of a removal", func(t *testing.T) {
		w := settled(Options{PD: 2, TiKV: 3, TiDB: 1})
		w.Scale(topology.PD, 1)
		w.When(func(w *Model) bool { return w.claims[pd][1].marked }, w.kill)
		_, _ = w.Drive(time.Hour)
		suspendAndResume(t, w, func() {})
	})
}

// The user cancels the suspension: a StatefulSet that is being deleted must be gone first.
func TestSuspendCalledOff(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	w.Suspend(kinds[:]...)
	w.OnStep("delete StatefulSet basic-tikv", func() { w.Suspend() })
	fine(t, w)
}

// Suspended before there was a cluster, and resumed.
func TestSuspendedFromTheStart(t *testing.T) {
	w := New(Options{Seed: 1, PD: 3, TiKV: 3, TiDB: 1})
	w.Trace()
	w.Suspend(kinds[:]...)
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome.String() != "converged" || w.there(pd) {
		t.Fatal(w.Transcript())
	}
	w.Suspend()
	fine(t, w)
}

// A cluster is paused in the middle of a rollout: nothing is changed until the pause ends, and then
// the rollout continues.
func TestPausedMidway(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.Upgrade("v2")
	w.OnStep("evict region leaders from basic-tikv-1", func() { w.Intent.Paused = true })
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Paused || len(w.ledger) != 1 {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Paused || len(w.ledger) != 1 {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	if found := p.Notices; len(found) != 1 || found[0].Reason != event.BegunBeforePause || found[0].Member != "basic-tikv-1" {
		t.Errorf("%+v, want the store without leaders", found)
	}
	w.Intent.Paused = false
	fine(t, w)
}

// TestPauseEnds: a pause with a time ends in the next run after it, and not before.
func TestPauseEnds(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.Upgrade("v2")
	w.OnStep("evict region leaders from basic-tikv-1", func() { w.PauseFor(10 * time.Minute) })
	for range 2 {
		if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Paused || p.Pause.By == "" {
			t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
		}
	}
	w.runUntil(w.Intent.PausedUntil)
	fine(t, w)
	if w.Intent.Paused {
		t.Error("it is still paused")
	}
}

// TiKV is suspended in the seconds in which PD is about to call a store without regions a
// tombstone. The next run does what is left to do about it. (seed 1795352750444)
func TestSuspendedBeforeAStoreIsATombstone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.When(func(w *Model) bool { return w.turningTombstone() }, func() {
		w.Suspend(topology.TiKV, topology.TiDB)
		w.stores[3].emptyAt = w.t + 20 // PD takes its time
	})
	fine(t, w)
	w.Suspend()
	fine(t, w)
}

// While our own members are suspended, those in another Kubernetes cluster run, but cannot be asked
// from here. (seed 17498)
func TestSuspendedBesideMembersElsewhere(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2, Reclaims: true})
	w.Scale(topology.PD, 1)
	w.When(func(w *Model) bool { return w.sets[pd].spec.replicas == 1 }, func() { w.Suspend(kinds[:]...) })
	w.When(func(w *Model) bool { return !w.there(tidb) }, func() { w.pd.elsewhere = never })
	w.When(func(w *Model) bool { return !w.there(pd) }, func() { w.pd.elsewhere = w.t + 100 })
	fine(t, w)
	w.Suspend()
	fine(t, w)
}

// PD is back after an outage and has yet to elect a leader, so that it cannot report its stores. A
// suspension does not end before it has. (seeds 70054655, 70119931)
func TestSuspensionDoesNotEndBeforePDAnswers(t *testing.T) {
	w := settled(Options{Seed: 1, PD: 1, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.OnStep("mark tikv-basic-tikv-3", func() {
		w.lose(w.pods[pd][0], 400)
		w.Suspend(topology.TiKV, topology.TiDB)
		w.kill()
	})
	_, _ = w.Drive(time.Hour)
	fine(t, w)
	w.Suspend()
	fine(t, w)
}

// A component is suspended after a removal was recorded and before PD was asked for it. The record
// is deleted then. (seed 1795338475408)
func TestSuspendedBetweenRecordAndRemoval(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.removals = append(w.removals, state.Removal{StoreID: w.ownStore(3).id, Member: w.names[tikv][3], Since: w.Now()})
	w.Suspend(topology.TiKV, topology.TiDB)
	_, _ = w.Drive(time.Hour)
	fine(t, w)
	w.Suspend()
	fine(t, w)
}

// The only voter here has a template with which it takes no part. The voters elsewhere are a quorum that serves, and
// have a scheduler of ours. A suspended PD gets no other template, so that a person resumes it. (seed 301223509)
func TestSuspendedWhileOnlyVotersElsewhereServe(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1, Elsewhere: 2})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return len(w.evicts) > 0 }, func() {
		w.pods[pd][0].flaw, w.pods[pd][0].joined = deaf, 0
		w.Upgrade("v3", topology.PD)
		w.Suspend(w.lastOf(0)...)
	})
	w.Settle(2 * time.Hour)
	fine(t, w)
	inOrder(t, w, "blocked: basic-tikv-0: evictions not ended", "user: suspend []")
}

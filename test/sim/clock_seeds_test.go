package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What seeds from the clock have found, each as the scenario that it comes down to.

// byHandFor drives and does what the plan asks of a person, for some time.
func byHandFor(w *Model, most time.Duration) {
	for late := w.t + int64(most/time.Second); w.t < late; {
		p, _ := w.Drive(time.Duration(late-w.t) * time.Second)
		w.Pass(30)
		w.obey(p)
	}
}

// Members of PD that crash half a minute after each start have a quorum only from time to time.
// None of them is given up: that would need the quorum for a long time. The template that the user
// asks for ends the crashes. (seeds 70048483, 70053160, 70054136, 70091168)
func TestCrashingVotersAreNotGivenUp(t *testing.T) {
	for _, o := range []Options{
		{PD: 3, TiKV: 3, TiDB: 1, Failover: true},
		{PD: 3, TiKV: 3, TiDB: 1, Failover: true, Elsewhere: 2, Ordered: [components]bool{pd: true}},
	} {
		w := settled(o)
		w.Manual(topology.PD)
		w.Upgrade("v2-frail", topology.PD)
		for i := 1; i < 3; i++ {
			w.When(func(w *Model) bool { return w.sets[pd].update == "v2-frail" }, func() { w.remove(w.pods[pd][i]) })
		}
		byHandFor(w, 20*time.Minute)
		w.Upgrade("v1", topology.PD)
		byHandFor(w, 30*time.Minute)
		notInTranscript(t, w, "remove PD member")
		fine(t, w)
	}
}

// PD has removed a member that was given up when the user asks for fewer members. Its claim is
// marked first, since without the mark the member looks like one that is about to join. (seeds
// 70046686, 70056795, 70095069)
func TestScaleInHalfWayThroughFailover(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][1], 1800)
	w.lose(w.pods[pd][3], 1800)
	w.When(func(w *Model) bool { return w.pd.memberAt(3) == nil }, func() {
		w.Scale(topology.PD, 3)
		w.kill()
	})
	_, _ = w.Drive(20 * time.Minute)
	w.Pass(60)
	_, _ = w.Drive(20 * time.Minute)
	w.Intent.Recover = true
	fine(t, w)
}

// PD has removed a replacement whose claim is not marked: a person has removed it, or the mark was
// taken off while PD did not answer. It is recreated with new data, like a member that was given
// up. (seeds 70031291, 70052984, 70091416)
func TestReplacementThatPDHasRemoved(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][1], 1200)
	w.When(func(w *Model) bool { return w.claims[pd][1].marked }, func() {
		w.expel(w.pd.memberAt(2).id)
	})
	w.When(func(w *Model) bool {
		f := w.failure(pd, "basic-pd-1")
		return f != nil && f.Deleted
	}, func() { w.Scale(topology.PD, 2) })
	_, _ = w.Drive(30 * time.Minute)
	w.Intent.Recover = true
	_, _ = w.Drive(time.Hour)
	fine(t, w)
}

// A member that PD has removed fails with every template, so it does not get the new one first: the
// new template would seem to be the cause, and no member would be given up. (seed 70088177)
func TestNewTemplateForMemberThatPDHasRemoved(t *testing.T) {
	w := settled(Options{PD: 4, TiKV: 3, TiDB: 1, Failover: true})
	w.expel(w.pd.memberAt(3).id)
	w.Pass(120)
	w.Upgrade("v2", topology.PD)
	_, _ = w.Drive(time.Hour)
	fine(t, w)
}

// Members fail with a template that is not wanted any more, below others that serve, while a
// removal waits for them. The gate says what to do there, too, and also about a member whose pod
// Kubernetes cannot create. (seeds 70055077, 70065046, 70071978)
func TestMembersBelowOthersAreReportedInEachPhase(t *testing.T) {
	for name, fail := range map[string]func(*Model){
		"it crashes": func(w *Model) {
			w.pods[tikv][1].flaw, w.pods[tikv][1].revision = crashing, "v0"
		},
		"it has no pod": func(w *Model) {
			w.sets[tikv].current, w.pods[tikv][1] = "v0-refused", nil
		},
	} {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		fail(w)
		w.Upgrade("v2", topology.TiKV)
		w.Scale(topology.TiKV, 4)
		w.Pass(60)
		p, err := w.Drive(3 * time.Hour)
		if err != nil || p.Outcome != plan.Blocked {
			t.Fatalf("%s: %s, %v\n%s", name, gates(p), err, w.Transcript())
		}
		fine(t, w)
	}
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

// A member without data joins just before its pod is deleted. The step asks PD once
// more, as package act does. (seed 70059519)
func TestMemberJoinsWhenItsPodIsToGo(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	if err := w.deletePodOf(plan.DeletePod{Component: topology.PD, Member: "basic-pd-2", UID: w.pods[pd][2].uid}); err == nil {
		t.Error("the pod of a member that PD counts on was deleted")
	}
	w.pd.silentUntil = w.t + 60
	if err := w.deletePodOf(plan.DeletePod{Component: topology.PD, Member: "basic-pd-2", UID: w.pods[pd][2].uid}); err == nil {
		t.Error("a pod was deleted though it was not known whether PD counts on its member")
	}
}

// A slow engine removes a member that another engine has removed before. The member that has joined
// in its place has another id, and stays. (seed 70061779)
func TestRemovalOfMemberThatIsGone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.seen = w.sight()
	for _, v := range w.judge(plan.RemoveMember{Member: "basic-pd-2", ID: 1}) {
		if v.Rule != "look" {
			t.Error(v)
		}
	}
	if found := w.judge(plan.RemoveMember{Member: "basic-pd-2", ID: w.pd.memberAt(2).id}); len(found) < 2 {
		t.Errorf("the removal of a member that is wanted: %v", found)
	}
}

// PD's health check misses a voter that was given up and has just come back. One report is not
// enough to remove it: it votes again. (seed 1795338593455)
func TestReturnedVoterThatPDMisses(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][1], 900)
	w.When(func(w *Model) bool { return w.failure(pd, "basic-pd-1") != nil }, func() {
		w.pods[pd][1].lost = w.t
		w.pd.memberAt(1).unheard, w.pods[pd][1].unreachable = w.t+90, w.t+90
		w.kill()
	})
	_, _ = w.Drive(time.Hour)
	for w.pods[pd][1] == nil || !w.pods[pd][1].ready {
		w.Pass(1)
	}
	_, _ = w.Drive(time.Hour)
	notInTranscript(t, w, "remove PD member")
	fine(t, w)
}

// PD gets no heartbeats of a store that is to be removed, and the process of another store that
// leaves has just ended. The first store may have one of the last copies: PD's report alone is not
// enough to take it offline. (seed 1795338466241)
func TestSilentStoreLeavesBesideOneThatIsDown(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
	w.ownStore(4).muffled = w.t + 400
	tombstone := w.ownStore(1)
	w.wipe(tombstone)
	tombstone.state = state.StoreTombstone
	w.Pass(30)
	w.Scale(topology.TiKV, 3)
	w.OnStep("delete pod basic-tikv-1", func() { w.remove(w.pods[tikv][3]) })
	_, _ = w.Drive(5 * time.Minute)
	fine(t, w)
}

// Two stores that are to be removed crash with a template that is not wanted any more, and users
// replace pods themselves. No other store can get the regions of both before one of them runs, so
// gates ask the users to delete their pods. (seeds 1795338456828, 1795338475477)
func TestManualStoresThatLeaveAndCrash(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
	w.Upgrade("v2-crashing", topology.TiKV)
	w.Manual(topology.TiKV)
	w.OnStep("update StatefulSet", func() {
		for i := range 5 {
			w.remove(w.pods[tikv][i])
		}
	})
	_, _ = w.Drive(20 * time.Minute)
	w.Upgrade("v3", topology.TiKV)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
}

// The same with stores that run, do not serve, and wait for the store above them to leave.
// (seed 1795400007217)
func TestManualStoresThatLeaveAndAreDeaf(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 6, TiDB: 1})
	w.Manual(topology.TiKV)
	w.Upgrade("v2-deaf", topology.TiKV)
	w.OnStep("update StatefulSet", func() {
		for i := 3; i < 6; i++ {
			w.remove(w.pods[tikv][i])
		}
	})
	_, _ = w.Drive(20 * time.Minute)
	w.Upgrade("v3", topology.TiKV)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
}

// A store that is a tombstone and not wanted crashes. With OrderedReady Kubernetes creates no pods
// of the two stores above it, which leave as well and have regions that no other store has. It gets
// new data, so that those two run again. (seed 1795338469550)
func TestTombstoneHoldsUpStoresThatLeave(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, Ordered: [components]bool{tikv: true}})
	w.Scale(topology.TiKV, 3)
	for _, i := range []int{4, 5} {
		w.ownStore(i).state = state.StoreOffline
		w.removals = append(w.removals, state.Removal{StoreID: w.ownStore(i).id, Member: w.names[tikv][i], Since: w.Now()})
		w.pods[tikv][i] = nil
	}
	w.wipe(w.ownStore(3))
	w.ownStore(3).state = state.StoreTombstone
	w.claims[tikv][3].marked = true
	w.halt(w.pods[tikv][3], 1)
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

// Kubernetes gets reports from the host of a TiDB server again just before the server is recorded
// as given up. (seeds 1795338588597, 1795338593635, 1795338593965)
func TestServerComesIntoSightWhenItIsGivenUp(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2, Failover: true})
	w.pods[tidb][0].unseen = w.t + 3600
	w.OnStep("give up basic-tidb-0", func() {
		w.pods[tidb][0].unseen = w.t
		w.Pass(30)
	})
	_, _ = w.Drive(time.Hour)
	if !inTranscript(w, "give up basic-tidb-0") {
		t.Error(w.Transcript())
	}
	w.Intent.Recover = true
	fine(t, w)
}

// Two members of PD do not serve with the template that they have, below one that serves with the
// wanted one. No member can be removed before one of them serves, and the evidence that allows to
// restart them must last two minutes. A run waits for that. (seeds 1795365308466, 1795365357787)
func TestVotersThatRefuseBelowOneThatLeaves(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
	w.Upgrade("v2", topology.PD)
	w.When(func(w *Model) bool { p := w.pods[pd][4]; return p != nil && p.revision == "v2" && p.running }, func() { w.kill() })
	_, _ = w.Drive(10 * time.Minute)
	for i := 2; i < 4; i++ {
		p := w.pods[pd][i]
		p.revision, p.flaw = "v0-deaf", deaf
	}
	w.Pass(900)
	w.Scale(topology.PD, 2)
	fine(t, w)
	inOrder(t, w, "basic-pd-3 not serving: not healthy; at the time limit it is restarted", "restart basic-pd-3", "remove PD member basic-pd-4")
}

// The last of three stores does not serve with its template, and its claim is being deleted. More
// stores are wanted, and the template is taken back. The new stores come first, since the regions
// of the last one have no other place. (seed 1795365353844)
func TestStoresComeBeforeOneThatRefusesAndWhoseClaimGoes(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	p := w.pods[tikv][2]
	p.revision, p.flaw = "v0-deaf", deaf
	w.claims[tikv][2].goneAt = w.t
	w.Pass(60)
	w.Upgrade("v2", topology.TiKV)
	w.Scale(topology.TiKV, 4)
	fine(t, w)
	inOrder(t, w, "scale TiKV from 3 to 4", "offline", "finish the rollout of TiKV")
}

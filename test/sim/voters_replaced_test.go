package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Members of PD that were removed, are replaced, or never started, and those that wait for them. Random runs have found
// each of these scenarios; the seeds that are named give other runs now.

// A member that cannot start is given up, and with OrderedReady the new ones are not created before
// it is ready. A gate must name it to users who restart pods themselves, although only Kubernetes
// waits for it. (seed 43196)
func TestReplacementWaitsByHand(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true, Ordered: [components]bool{pd: true}})
	w.Upgrade("v2-noimage", topology.PD)
	_, _ = w.Drive(4 * time.Minute)
	w.Manual(topology.PD)
	w.Upgrade("v1", topology.PD)
	w.Scale(topology.PD, 5)
	fine(t, w)
	if !inTranscript(w, "give up basic-pd-2") || !inTranscript(w, "no pod before basic-pd-2 is ready") {
		t.Error(w.Transcript())
	}
}

// PD has added a member whose pod is scaled away before it starts. PD lets no member join until
// that one has started or is removed. Another member has lost its data and waits to join. (seed
// 1795346788113)
func TestMemberThatNeverStartedHoldsUpAnother(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
	w.Scale(topology.PD, 6)
	w.When(func(w *Model) bool { m := w.pd.memberAt(5); return m != nil && !m.started }, func() {
		w.claims[pd][5].marked = true
		w.lower(pd, 5)
		w.pods[pd][5] = nil
		w.Scale(topology.PD, 5)
		w.expel(w.claims[pd][0].data)
		w.claims[pd][0] = nil
		w.remove(w.pods[pd][0])
	})
	fine(t, w)
	inOrder(t, w, "remove PD member basic-pd-5")
}

// A template with which no member of PD serves is taken back after some members got it. PD has
// removed the highest member, which gets new data only when the others serve; a partition reaches
// the others only after it. (seeds 1795352750954, 1795352772409, 1795350452672)
func TestRemovedVoterAboveOneThatDoesNotServe(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1})
	for i := 3; i < 5; i++ {
		p := w.pods[pd][i]
		p.revision, p.flaw = "v0-deaf", deaf
	}
	w.expel(w.claims[pd][4].data)
	w.claims[pd][4].marked = true
	w.Pass(600)
	w.Upgrade("v2", topology.PD)
	fine(t, w)
	inOrder(t, w, "restart basic-pd-4", "restart basic-pd-3", "delete left-over claim pd-basic-pd-4")
}

// The first member of PD has no data, and waits for PD to let it join. PD has no quorum, and
// in order Kubernetes makes no pod of those that it lacks before the first one is ready.
// (seed 1795354640068)
func TestQuorumBehindAMemberWithoutData(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1, Ordered: [components]bool{pd: true}})
	w.expel(w.claims[pd][0].data)
	w.claims[pd][0] = nil
	for i := range 3 {
		w.remove(w.pods[pd][i])
	}
	w.Pass(60)
	fine(t, w)
	inOrder(t, w, "user: recreate the StatefulSet of PD, Parallel", "create StatefulSet basic-pd with 5 replicas")
}

// PD lets no member join until the last of its first members has started. The first one has
// lost its data and waits to join, and in order Kubernetes makes no pod of the last one
// before the first one is ready. (seed 1795365311216)
func TestFirstStartBehindAMemberWithoutData(t *testing.T) {
	w := New(Options{PD: 4, TiKV: 3, TiDB: 1, Failover: true, Ordered: [components]bool{pd: true}})
	w.Trace()
	w.When(func(w *Model) bool { return w.pd.id != 0 && w.pods[pd][2].joined != 0 }, func() {
		w.expel(w.claims[pd][0].data)
		w.claims[pd][0] = nil
		w.remove(w.pods[pd][0])
	})
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "user: recreate the StatefulSet of PD, Parallel")
}

// PD lets no member join until the last of its first members has started. In order Kubernetes
// creates its pod only after that of a member that was given up and has no vote.
// (seed 1795378905651)
func TestFirstStartBehindAMemberThatWasGivenUp(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2, Failover: true, Ordered: [components]bool{pd: true}})
	w.advice.founders, w.advice.late[2], w.pd.memberAt(2).started = members{replicas: 3}, true, false
	given := w.claims[pd][1].data
	w.failures[pd] = []topology.Failure{{Member: "basic-pd-1", ID: given, Created: w.Now(), Deleted: true}}
	w.expel(given)
	for i := 1; i < 3; i++ {
		w.pods[pd][i], w.claims[pd][i] = nil, nil
	}
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "user: recreate the StatefulSet of PD, Parallel")
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

// A member without data joins just before its pod is deleted. The step asks PD once
// more, as package act does. (seed 70059519)
func TestMemberJoinsWhenItsPodIsToGo(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	if err := w.deletePodOf(step.DeletePod{Component: topology.PD, Member: "basic-pd-2", UID: w.pods[pd][2].uid}); err == nil {
		t.Error("the pod of a member that PD counts on was deleted")
	}
	w.pd.silentUntil = w.t + 60
	if err := w.deletePodOf(step.DeletePod{Component: topology.PD, Member: "basic-pd-2", UID: w.pods[pd][2].uid}); err == nil {
		t.Error("a pod was deleted though it was not known whether PD counts on its member")
	}
}

// PD has removed a member whose host is lost. The user wants this member again, and no more
// the one above it, which stays until the lower one has joined with new data.
// (seed 1795373494249)
func TestVoterStaysUntilOneThatPDHasRemovedIsBack(t *testing.T) {
	w := settled(Options{PD: 4, TiKV: 3, TiDB: 1})
	w.expel(w.claims[pd][2].data)
	w.claims[pd][2].marked = true
	w.lose(w.pods[pd][2], 900)
	w.Pass(600)
	w.Scale(topology.PD, 3)
	_, _ = w.Drive(3 * time.Minute)
	notInTranscript(t, w, "remove PD member")
	fine(t, w)
	inOrder(t, w, "basic-pd-2 not serving: pod is terminating", "remove PD member basic-pd-3")
}

// PD has removed four of five members, and none of their claims is marked. No more than three
// members may be given up, and those get new data only when the fourth one does not hold them up.
// (seed 1795378563763)
func TestMoreVotersRemovedThanMayBeGivenUp(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1, Failover: true})
	for i := 1; i < 5; i++ {
		w.expel(w.claims[pd][i].data)
	}
	w.Pass(600)
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "give up basic-pd-3", "mark pd-basic-pd-4 as left over")
}

// Only members of PD in another Kubernetes cluster run that have a vote. The one whose vote lacks
// is marked for a removal that did not happen, and in order Kubernetes creates its pod only after
// that of a member that PD has removed. The StatefulSet that a person recreates has both, because PD
// cannot be asked. (seed 1795378564135)
func TestMarkedVoterBehindOneThatPDHasRemoved(t *testing.T) {
	w := settled(Options{PD: 2, TiKV: 3, TiDB: 1, Elsewhere: 2, Failover: true, Ordered: [components]bool{pd: true}})
	w.failures[pd] = []topology.Failure{{Member: "basic-pd-0", ID: w.claims[pd][0].data, Claims: []string{w.claims[pd][0].uid}, Created: w.Now()}}
	w.expel(w.claims[pd][0].data)
	for i := range 2 {
		w.claims[pd][i].marked = true
		w.remove(w.pods[pd][i])
	}
	w.Pass(600)
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "user: recreate the StatefulSet of PD, Parallel", "create StatefulSet basic-pd with 2 replicas", "take the mark off pd-basic-pd-1")
}

// A slow engine removes a member that another engine has removed before. The member that has joined
// in its place has another id, and stays. (seed 70061779)
func TestRemovalOfMemberThatIsGone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.seen = w.sight()
	for _, v := range w.judge(step.RemoveMember{Member: "basic-pd-2", ID: 1}) {
		if v.Rule != "look" {
			t.Error(v)
		}
	}
	if found := w.judge(step.RemoveMember{Member: "basic-pd-2", ID: w.pd.memberAt(2).id}); len(found) < 2 {
		t.Errorf("the removal of a member that is wanted: %v", found)
	}
}

package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What random runs have found, each reduced to a scenario. The seeds that are named give other runs
// by now.

// A StatefulSet is scaled by hand in the middle of a removal, and all is suspended while PD does
// not answer. Whose data the marked claim has is not known until PD answers again. (seeds 4818,
// 15895, 16825)
func TestMarkedClaimWhilePDDoesNotAnswer(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Faults: Faults{Kubectl: 1}})
	scale := func(n int) {
		spec := w.sets[pd].spec
		spec.replicas = n
		w.change(&w.sets[pd], spec)
	}
	scale(4)
	w.OnStep("remove PD member basic-pd-3", func() {
		w.pd.startedAt, w.pd.silentUntil = w.t, w.t+1200
		scale(3)
		w.Suspend(kinds[:]...)
	})
	fine(t, w)
	if c := w.claims[pd][3]; c == nil || !c.marked || !w.counted(pd, 3) {
		t.Fatalf("this test shows nothing\n%s", w.Transcript())
	}
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

// Our only member runs and does not take part in the quorum. Its peers do, and cannot be reached.
// (seed 408)
func TestDeafPDBesideMembersElsewhere(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1, Elsewhere: 2})
	w.Upgrade("v2-deaf", topology.PD)
	_, _ = w.Drive(time.Hour)
	w.Upgrade("v1", topology.PD)
	fine(t, w)
}

// Only one member is wanted, and that one was given up. The last one that serves here stays: the
// members elsewhere have a quorum, but without it they could not be asked from here, and no member
// could join. (seeds 23755, 28902, 29852)
func TestLastMemberHereStays(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2, Failover: true})
	w.lose(w.pods[pd][0], 3600)
	w.OnStep("remove PD member basic-pd-0", func() { w.Scale(topology.PD, 1) })
	_, _ = w.Drive(50 * time.Minute)
	if !w.reached() || !inTranscript(w, "give up basic-pd-0") {
		t.Fatal(w.Transcript())
	}
	w.Intent.Recover = true
	w.Settle(2 * time.Hour)
	fine(t, w)
}

// Members that run and do not serve, with an old template and below others that serve with another
// one, cannot be reached by a partition. The run does not wait for ever for what only a person can
// do. (seeds 8668, 17290)
func TestDeafBelowOthers(t *testing.T) {
	for _, k := range []kind{pd, tikv} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
		w.pods[k][1].flaw = deaf
		w.Pass(600)
		w.Upgrade("v2", kinds[k])
		p, err := w.Drive(2 * time.Hour)
		if err != nil || p.Outcome != plan.Blocked || !strings.Contains(p.Gates[0].Remedy.Line(""), "--cascade=orphan") {
			t.Fatalf("%s, %v\n%s", gates(p), err, w.Transcript())
		}
		w.orphan(k) // the commands of the remedy, one after the other
		w.remove(w.pods[k][1])
		w.Settle(time.Hour)
		if p := w.pods[k][1]; p == nil || p.revision != "v2" || p.flaw == deaf {
			t.Errorf("the remedy did not help:\n%s", w.Transcript())
		}
		fine(t, w)
	}
}

// A member that was added never starts, since its template fails, and PD lets no other member join
// until then. That others fail for this reason says nothing about the new template. (seeds 16192,
// 22382)
func TestAddedMemberHoldsUpOthers(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.pd.members = append(w.pd.members, pdMember{id: 100 + w.number(), ordinal: 3})
	spec := w.sets[pd].spec
	spec.replicas, spec.partition = 4, 4
	w.change(&w.sets[pd], spec)
	w.Scale(topology.PD, 4)
	w.When(func(w *Model) bool { return w.pods[pd][3] != nil && w.claims[pd][3] != nil }, func() {
		w.pods[pd][3].flaw, w.pods[pd][3].revision, w.claims[pd][3].data = noImage, "v0", w.pd.memberAt(3).id
	})
	w.Pass(60)
	w.expel(w.pd.memberAt(0).id)
	w.remove(w.pods[pd][0])
	w.claims[pd][0].goneAt = w.t
	w.Pass(600)
	fine(t, w)
}

// The last member of PD crashes with its template, must be replaced by the user, and is to be
// removed when another one has joined. It crashes too fast to be asked whether PD has a leader. The
// gate asks the user to delete the pod all the same. (seed 15015)
func TestLastMemberCrashesByHand(t *testing.T) {
	w := settled(Options{PD: 2, TiKV: 3, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][0], 1200)
	w.expel(w.claims[pd][0].data)
	w.claims[pd][0].marked = true
	w.Manual(topology.PD)
	w.Upgrade("v2-crashing", topology.PD)
	w.Scale(topology.PD, 1)
	w.OnStep("update StatefulSet basic-pd", func() { w.remove(w.pods[pd][1]) })
	_, _ = w.Drive(30 * time.Minute)
	w.Upgrade("v1", topology.PD)
	fine(t, w)
	if !inTranscript(w, "user: delete pod basic-pd-1, as asked") {
		t.Error(w.Transcript())
	}
}

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

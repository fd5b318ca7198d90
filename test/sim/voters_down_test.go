package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// How PD goes on while members do not serve, refuse, crash, or run elsewhere. Random runs have found each of these
// scenarios; the seeds that are named give other runs now.

// byHandFor drives and does what the plan asks of a person, for some time.
func byHandFor(w *Model, most time.Duration) {
	for late := w.t + int64(most/time.Second); w.t < late; {
		p, _ := w.Drive(time.Duration(late-w.t) * time.Second)
		w.Pass(30)
		w.obey(p)
	}
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

// One or two of three members of PD crash half a minute after each start, and are not wanted any
// more. A member that serves can be removed only where the others have a lasting quorum. So where one
// crashes it leaves PD first, and where two crash only the user, who replaces pods, can give them the
// wanted template. (seeds 1795350452335, 1795356387299)
func TestQuorumThatCrashesByHand(t *testing.T) {
	for _, crash := range []int{1, 2} {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
		w.Manual(topology.PD)
		w.Upgrade("v2", topology.PD)
		_, _ = w.Drive(time.Minute)
		for i := range 3 {
			if i < 1 || i > crash {
				w.remove(w.pods[pd][i])
				w.Pass(60)
			}
		}
		for i := 1; i <= crash; i++ {
			p := w.pods[pd][i]
			p.revision, p.flaw, p.crashes = "v0-frail", frail, 6
			w.Pass(160)
		}
		w.Pass(600)
		w.Scale(topology.PD, 1)
		fine(t, w)
		first := map[int]string{1: "remove PD member basic-pd-1", 2: "user: delete pod basic-pd-1"}
		inOrder(t, w, first[crash], "remove PD member basic-pd-2")
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

// The only member of PD has crashed many times in an hour, each time after some minutes in which
// it served. A second one was added with a template with which no member runs. The first one
// does not get it. (seeds 1795365342807, 1795373468414)
func TestVoterThatServesBetweenCrashesIsNotGivenATemplateThatFails(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1})
	w.Upgrade("v2-crashing", topology.PD)
	w.Scale(topology.PD, 2)
	spec := w.sets[pd].spec
	spec.replicas, spec.partition, spec.template = 2, 1, "v2-crashing"
	w.change(&w.sets[pd], spec)
	for range 8 {
		w.Pass(220)
		w.halt(w.pods[pd][0], 10)
	}
	_, _ = w.Drive(time.Minute)
	notInTranscript(t, w, "restart basic-pd-0")
	w.Upgrade("v3", topology.PD)
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

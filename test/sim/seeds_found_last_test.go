package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

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

// PD receives no heartbeats of the store that is to be restarted next, while the one before it
// is being restarted. The restarted one may lead again first, so that no more than one store at
// a time gives its leaders up. (seed 1795373514758)
func TestRestartedStoreLeadsBeforeSilentOneGivesLeadersUp(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("restart basic-tikv-3", func() { w.ownStore(2).muffled = w.t + 600 })
	w.When(func(w *Model) bool { p := w.pods[tikv][3]; return p != nil && p.running && p.revision == "v2" }, func() { w.pods[tikv][3].readyAt += 40 })
	fine(t, w)
	inOrder(t, w, "allow region leaders on basic-tikv-3", "evict region leaders from basic-tikv-2")
}

// The claim of a store that has left is gone, and so is its pod. Kubernetes makes both again
// in the moment in which the StatefulSet gets fewer replicas. (seed 1795373477555)
func TestClaimMadeWhenItsStoreIsScaledAway(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.OnStep("scale TiKV from 4 to 3", func() {
		w.pods[tikv][3], w.claims[tikv][3] = nil, nil
		w.control(tikv)
	})
	fine(t, w)
	inOrder(t, w, "scale TiKV from 4 to 3", "mark tikv-basic-tikv-3 as left over")
	w.Scale(topology.TiKV, 4)
	fine(t, w)
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
// that of a member that PD has removed. (seed 1795378564135)
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
	inOrder(t, w, "user: recreate the StatefulSet of PD, Parallel", "scale PD from 1 to 2")
}

// PD lets no member join until the last of its first members has started. In order Kubernetes
// creates its pod only after that of a member that was given up and has no vote.
// (seed 1795378905651)
func TestFirstStartBehindAMemberThatWasGivenUp(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2, Failover: true, Ordered: [components]bool{pd: true}})
	w.advice.founders, w.advice.late[2], w.pd.memberAt(2).started = 3, true, false
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

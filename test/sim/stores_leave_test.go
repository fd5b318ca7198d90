package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Stores that leave, and claims that go, while others crash or refuse. Random runs have found each of these
// scenarios; the seeds that are named give other runs now.

// Two stores leave, and do not serve with the template that they have. Regions with copies
// on both have no quorum, so that PD can move them only when one of the two serves again.
// (seed 1795355308333)
func TestStoresThatLeaveAndRefuse(t *testing.T) {
	for _, manual := range []bool{false, true} {
		w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, Failover: true})
		w.Intent.Manual[tikv] = manual
		w.Upgrade("v2", topology.TiKV)
		for i := 4; i < 6; i++ {
			p := w.pods[tikv][i]
			p.revision, p.flaw = "v0-deaf", deaf
			s := w.ownStore(i)
			w.offlineByHand(s)
			s.byHand = false
		}
		w.Scale(topology.TiKV, 4)
		w.Pass(3600)
		fine(t, w)
	}
}

// The claim of one of three stores is being deleted, its host is lost for so long that it is
// given up, and the user asks for more stores. They come before that one is removed, since
// its regions have no place before.
func TestMoreStoresForOneWhoseClaimGoes(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true, Ordered: [components]bool{tikv: ordered}})
		w.claims[tikv][2].goneAt = w.t
		w.lose(w.pods[tikv][2], 4000)
		w.Pass(2600)
		w.Scale(topology.TiKV, 6)
		w.Intent.Recover = true
		fine(t, w)
		inOrder(t, w, "scale TiKV from 3 to 4", "take store 3 of basic-tikv-2 offline")
	}
}

// Two stores are to leave, and the process of the lower one ends. PD calls it Up for 20 s
// more, and it may have one of three copies. (seed 1795357764682)
func TestStoreLeavesWhileAnotherOneHasJustEnded(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.OnStep("evict region leaders from basic-tikv-3", func() {
		w.Scale(topology.TiKV, 2)
		w.halt(w.pods[tikv][2], 30)
	})
	_, _ = w.Drive(time.Minute)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
	inOrder(t, w, "needs 3 other stores that run, has 2", "offline")
}

// The model deletes no claim of a store while a region has only two copies. PD may move one of them
// onto that store, and without the store's data the region is lost. (seed 1795362645147)
func TestNoClaimGoesWhileCopiesAreMissing(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
	r := &w.regions[0]
	for i := range 5 {
		if s := w.ownStore(i); !slices.Contains(r.replicas, s) {
			if !w.copied(i) {
				t.Errorf("all regions have their copies, none of this one on %s", w.names[tikv][i])
			}
			r.replicas = slices.Delete(r.replicas, 2, 3)
			if w.copied(i) {
				t.Errorf("a region has two copies, and may get one of them on %s", w.names[tikv][i])
			}
			return
		}
	}
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

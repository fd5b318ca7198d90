package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// A store that has lost its data cannot register, with any template, while PD keeps its address for
// the old store. Another store is down with a template that is not wanted any more. It gets the
// wanted template all the same. (seeds 1795346788588, 1795346788397)
func TestStoreOfARevisionInBetween(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Faults: Faults{DeleteClaim: 1}})
	w.Manual(topology.TiKV)
	w.Upgrade("v2-noimage", topology.TiKV)
	_, _ = w.Drive(time.Minute)
	w.remove(w.pods[tikv][3])
	w.Pass(60)
	w.Upgrade("v3", topology.TiKV)
	_, _ = w.Drive(time.Minute)
	w.claims[tikv][0] = nil
	w.remove(w.pods[tikv][0])
	w.Pass(60)
	if w.pods[tikv][3].revision != "v2-noimage" || w.pods[tikv][0].revision != "v3" || w.serves(tikv, 0) {
		t.Fatalf("this test shows nothing\n%s", w.Transcript())
	}
	fine(t, w)
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

// The host of a TiDB server is back. The new process answers before it serves, and its pod has been
// NotReady for a long time. (seed 1795335980561)
func TestServerThatHasJustStartedAgain(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	w.lose(w.pods[tidb][0], 250)
	w.Pass(60)
	w.Upgrade("v2", topology.TiDB)
	w.When(func(w *Model) bool { p := w.pods[tidb][0]; return p.running && p.started > 60 }, func() { w.pods[tidb][0].readyAt += 20 })
	fine(t, w)
}

// A store that was given up is back, and the user's request to discard its data is still there. PD
// answers without its stores for a while. (seeds 1795500014335, 50005835)
func TestStoreThatIsBackIsNotDiscarded(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true})
	w.lose(w.pods[tikv][1], 4000)
	w.Pass(2400)
	_, _ = w.Drive(10 * time.Minute)
	if w.failure(tikv, "basic-tikv-1") == nil {
		t.Fatalf("this test shows nothing\n%s", w.Transcript())
	}
	w.Pass(2000)
	w.discard = []string{"basic-tikv-1"}
	w.pd.storeless = w.t + 60
	_, _ = w.Drive(50 * time.Second)
	notInTranscript(t, w, "and its data")
	w.Intent.Recover = true
	fine(t, w)
}

// A tidb-operator begins to drive while two engines do. Both end.
// (seed 1795346790214)
func TestOperatorEndsBothEngines(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("restart basic-tikv-3", func() {
		w.startRival()
		w.drivers[0].finds, w.drivers[1].wake = w.t+60, w.t+30
		w.startOperator()
		w.goesAt = w.t + 600
	})
	ended := int64(never)
	_, _ = w.Drive(5 * time.Minute)
	w.When(func(w *Model) bool { return len(w.drivers) == 0 }, func() { ended = w.t })
	_, _ = w.Drive(5 * time.Minute)
	if w.operator == "" || ended > w.cameAt+yielding {
		t.Fatal(w.Transcript())
	}
	w.Pass(600)
	w.theirs = nil
	for _, s := range w.stores {
		if e := w.evicts[s.id]; e != nil && !e.ours && s.state == state.StoreUp {
			delete(w.evicts, s.id)
		}
	}
	fine(t, w)
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

// A store has lost its data, so that it cannot register with any template. The other two stores
// have a template with which no store serves, and it is taken back. The store that fails below them
// does not prevent their restart. (seed 1795600015139)
func TestStoresThatRefuseAboveOneWithoutData(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Faults: Faults{DeleteClaim: 1}})
	for i := 1; i < 3; i++ {
		p := w.pods[tikv][i]
		p.revision, p.flaw = "v0-deaf", deaf
	}
	w.sets[tikv].current = "v0-deaf"
	w.claims[tikv][0] = nil
	w.remove(w.pods[tikv][0])
	w.Pass(60)
	w.pods[tikv][0].revision, w.pods[tikv][0].flaw = "v1", ""
	fine(t, w)
	inOrder(t, w, "restart basic-tikv-2", "restart basic-tikv-1")
}

// A store has crashed again and again, and serves just now. Its heartbeats are late, Kubernetes
// gets no reports from its host, and PD moves no leaders. (seed 1795350451978)
func TestStoreThatCrashesServesWhileItRuns(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	p := w.pods[tikv][3]
	w.ownStore(3).muffled = w.t + 500
	for range 4 {
		w.halt(p, 20)
		w.Pass(65)
	}
	w.pd.idle = w.t + 300
	w.Upgrade("v2", topology.TiKV)
	p.unseen = w.t + 100
	fine(t, w)
	inOrder(t, w, "restart basic-tikv-3")
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

package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// lower scales a StatefulSet by hand, as a person does.
func (w *Model) lower(k kind, replicas int) {
	spec := w.sets[k].spec
	spec.replicas = replicas
	w.change(&w.sets[k], spec)
}

// TiKV is scaled by hand to so few pods that regions have no quorum any more, and the user then
// wants as many as are left. PD can move no region without a quorum, so the stores come back first,
// and are removed in order then.
func TestStoresScaledAwaySoThatRegionsHaveNoQuorum(t *testing.T) {
	for _, wait := range []int{0, 30, 3000} {
		w := settled(Options{PD: 3, TiKV: 6, TiDB: 1})
		w.lower(tikv, 3)
		w.Scale(topology.TiKV, 3)
		w.Pass(wait)
		fine(t, w)
		inOrder(t, w, "scale TiKV from 3 to 4", "scale TiKV from 4 to 5", "store 6 of basic-tikv-5 offline", "scale TiKV from 4 to 3")
	}
}

// The same with voters: without a quorum PD cannot be asked which members are missing.
func TestVotersScaledAwaySoThatPDHasNoQuorum(t *testing.T) {
	for _, elsewhere := range []int{0, 2} {
		w := settled(Options{PD: 5, TiKV: 3, TiDB: 1, Elsewhere: elsewhere})
		w.lower(pd, 1)
		w.Scale(topology.PD, 1)
		w.Pass(60)
		fine(t, w)
		inOrder(t, w, "scale PD from 1 to 2", "scale PD from 2 to 3", "scale PD from 2 to 1")
	}
}

// A store that was scaled away by hand is brought back on a host that is lost. The run does not
// wait for it for ever: PD replaces its regions on other stores after a while, and it leaves as one
// that does not serve.
func TestStoreScaledAwayAndLost(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
	w.claims[tikv][4].lost = true
	w.lower(tikv, 4)
	w.Scale(topology.TiKV, 3)
	_, _ = w.Drive(2 * time.Hour)
	fine(t, w)
}

// Two stores are scaled away by hand, and the claim of the lower one was being deleted, so that its
// data is gone. Regions with copies on both have no quorum before the upper one runs, and a
// StatefulSet cannot skip an ordinal. (seeds 1795352767966, 1795350451884)
func TestStoreScaledAwayAboveOneWithoutData(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1, Ordered: [components]bool{tikv: ordered}})
		w.claims[tikv][3].goneAt = w.t
		w.lower(tikv, 3)
		w.Scale(topology.TiKV, 3)
		w.Pass(60)
		fine(t, w)
		inOrder(t, w, "scale TiKV from 3 to 4", "scale TiKV from 4 to 5", "scale TiKV from 5 to 4")
	}
}

// A store joins just when it is scaled away, so that its claim is marked though it has
// regions. The copies of those on another store are lost. (seed 1795354626869)
func TestStoreThatJoinsWhenItIsScaledAway(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, Faults: Faults{DeleteClaim: 1}})
	w.Scale(topology.TiKV, 5)
	w.lower(tikv, 5)
	w.claims[tikv][5].marked = true
	w.claims[tikv][0] = nil
	w.remove(w.pods[tikv][0])
	w.Pass(60)
	w.offlineByHand(w.storeAtAddress(tikv, 0))
	fine(t, w)
	inOrder(t, w, "scale TiKV from 5 to 6", "offline", "scale TiKV from 6 to 5")
}

// The same with a store in a slot. Where the other store has failed for long, each run asks a person for help at once,
// and would end before the reports of PD are new enough. (seeds 302608716, 302607417)
func TestStoreThatJoinsWhenItsSlotIsAskedFor(t *testing.T) {
	for _, failed := range []int{60, 3000} {
		w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, Advanced: true, Faults: Faults{DeleteClaim: 1}})
		w.AskSlots(topology.TiKV, 5, 1)
		spec := w.sets[tikv].spec
		spec.members = w.Intent.members(tikv)
		w.change(&w.sets[tikv], spec)
		w.claims[tikv][1].marked = true
		w.claims[tikv][0] = nil
		w.remove(w.pods[tikv][0])
		w.Pass(failed)
		w.offlineByHand(w.storeAtAddress(tikv, 0))
		fine(t, w)
		inOrder(t, w, "scale TiKV from 5 to 6", "take store 2 of basic-tikv-1 offline", "scale TiKV from 6 to 5")
	}
}

// A voter joins just when it is scaled away, so that PD has two members and one of them has no pod.
// Its claim is marked. Without it PD has no leader, and cannot be asked. (seed 60001167)
func TestVoterThatJoinsWhenItIsScaledAway(t *testing.T) {
	w := settled(Options{PD: 2, TiKV: 3, TiDB: 1})
	w.claims[pd][1].marked = true
	w.lower(pd, 1)
	w.Scale(topology.PD, 1)
	fine(t, w)
	inOrder(t, w, "scale PD from 1 to 2", "remove PD member basic-pd-1", "scale PD from 2 to 1")
}

// The same with a voter in a slot, where Kubernetes makes pods one after another. No pod is above the voter in a slot at
// the end, so that it comes back. Below others it might keep their pods from being made, and a person has all pods made
// at once. (seed 306551516)
func TestVoterThatJoinsWhenItsSlotIsAskedFor(t *testing.T) {
	for slot, want := range [][]string{
		{"user: recreate the StatefulSet of PD, Parallel", "create StatefulSet basic-pd with 2 replicas", "remove PD member basic-pd-0"},
		{"scale PD from 1 to 2", "remove PD member basic-pd-1", "scale PD from 2 to 1"},
	} {
		w := settled(Options{PD: 2, TiKV: 3, TiDB: 1, Advanced: true, Ordered: [components]bool{pd: true}})
		w.claims[pd][slot].marked = true
		w.AskSlots(topology.PD, 1, slot)
		spec := w.sets[pd].spec
		spec.members = w.Intent.members(pd)
		w.change(&w.sets[pd], spec)
		fine(t, w)
		inOrder(t, w, want...)
	}
}

// PD is scaled to one member by hand, while another one is recreated: its claim is gone, and there
// is one above it that is needed for a quorum. A StatefulSet cannot skip an ordinal, so both come
// back. (seeds 60002082, 1795346787676)
func TestVoterScaledAwayAboveAMissingOne(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.expel(w.claims[pd][1].data)
	w.lower(pd, 1)
	w.Pass(60)
	w.claims[pd][1] = nil
	fine(t, w)
	inOrder(t, w, "scale PD from 1 to 2", "scale PD from 2 to 3")
}

// All members of PD are scaled away, and the first of them is one that PD has removed. No member is
// left that could say whose data is on its claim. (seeds 1795346787647, 1795346793859)
func TestAllVotersScaledAway(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2})
	w.expel(w.claims[pd][0].data)
	w.claims[pd][0].marked = true
	w.lower(pd, 0)
	w.Pass(60)
	fine(t, w)
	inOrder(t, w, "scale PD from 0 to 1", "scale PD from 1 to 2")
}

// A member of PD crashes again and again, for it has no data and there is no leader to let it
// join. The member that is needed for a quorum was scaled away, and its claim is marked. (seed
// 1795346785057)
func TestVoterScaledAwayWhileAnotherHasNoData(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.expel(w.claims[pd][0].data)
	w.claims[pd][2].marked = true
	w.lower(pd, 0)
	w.Pass(60)
	w.claims[pd][0] = nil
	w.lower(pd, 2)
	fine(t, w)
	inOrder(t, w, "scale PD from 2 to 3")
}

// The mark on the claim of a voter that PD has removed is lost, as it is when PD cannot be asked
// while it is suspended, and a rollout has reached its pod. The rollout waits for it, and it cannot
// join again with its old data. (seeds 1795500022437, 70002396)
func TestVoterThatPDHasRemovedInARollout(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.Upgrade("v2", topology.PD)
	w.OnStep("restart basic-pd-2", func() { w.expel(w.claims[pd][2].data) })
	fine(t, w)
	inOrder(t, w, "give up basic-pd-2", "delete left-over claim pd-basic-pd-2", "restart basic-pd-1")
}

// The highest of three stores has lost its data when a rollout restarts it, and a person
// takes what PD knows of it offline and asks for another store. Its regions have no place
// before that one comes, and it cannot serve before they are gone. (seed 1795600014124)
func TestRoomForAStoreThatLeavesInARollout(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("restart basic-tikv-2", func() {
		w.offlineByHand(w.ownStore(2))
		w.claims[tikv][2].goneAt = w.t
		w.Scale(topology.TiKV, 4)
	})
	fine(t, w)
	inOrder(t, w, "restart basic-tikv-2", "scale TiKV from 3 to 4", "restart basic-tikv-1")
}

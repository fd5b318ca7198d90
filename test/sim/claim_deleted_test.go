package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// The claim of a voter is deleted while it serves: by hand, or because it joined just when it was
// about to be recreated. With its next restart PD would lose the member for good, so PD removes it
// before.
func TestVoterWhoseClaimIsGoing(t *testing.T) {
	for _, k := range []int{0, 1, 2} {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
		w.claims[pd][k].goneAt = w.t
		w.Upgrade("v2", topology.PD)
		name := w.names[pd][k]
		fine(t, w)
		inOrder(t, w, "remove PD member "+name, "recreate pod "+name+"", "finish the rollout of PD")
		if m := w.pd.memberAt(k); m == nil || !w.alive(*m) {
			t.Error(w.Transcript())
		}
	}
}

// Without a quorum PD can remove no member, and the member whose claim is being deleted may be the
// one that it needs for a quorum.
func TestVoterWhoseClaimIsGoingWithoutQuorum(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.claims[pd][2].goneAt = w.t
	w.lose(w.pods[pd][0], 3000)
	w.lose(w.pods[pd][1], 3000)
	w.Upgrade("v2", topology.PD)
	_, _ = w.Drive(40 * time.Minute)
	notInTranscript(t, w, "restart basic-pd-2")
	w.Pass(1200)
	fine(t, w)
}

// PD has one member only. It keeps its old template until there are others that can take over.
func TestOnlyVoterWhoseClaimIsGoing(t *testing.T) {
	w := settled(Options{PD: 1, TiKV: 3, TiDB: 1})
	w.claims[pd][0].goneAt = w.t
	w.Upgrade("v2", topology.PD)
	_, _ = w.Drive(40 * time.Minute)
	notInTranscript(t, w, "restart basic-pd-0")
	w.Scale(topology.PD, 3)
	fine(t, w)
	if w.pd.bootstraps != 1 {
		t.Error(w.Transcript())
	}
}

// The next restart of the store would delete a copy of each of its regions, and PD would give its
// address to no other store. Its regions leave first.
func TestStoreWhoseClaimIsGoing(t *testing.T) {
	for _, k := range []int{0, 3} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
		w.claims[tikv][k].goneAt = w.t
		w.Upgrade("v2", topology.TiKV)
		fine(t, w)
		name, before := w.names[tikv][k], w.stores[0].id
		inOrder(t, w, fmt.Sprintf("take store %d of %s offline", before+uint64(k), name), "recreate pod "+name+"", "finish the rollout of TiKV")
		if s := w.ownStore(k); s == nil || s.id <= before+3 {
			t.Errorf("%s is not a new store\n%s", name, w.Transcript())
		}
	}
}

// A store above it is a tombstone, and with OrderedReady Kubernetes creates no pod of the last
// store before that one is Ready again. The store whose claim is being deleted waits for the last
// store, so the tombstone is recreated first. (seed 50000522)
func TestStoreWhoseClaimIsGoingBelowATombstone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 6, TiDB: 1, Ordered: [components]bool{tikv: true}})
	w.claims[tikv][0].goneAt = w.t
	w.store(2).state = state.StoreTombstone
	w.wipe(w.store(2))
	w.Pass(120)
	w.remove(w.pods[tikv][5])
	w.Pass(60)
	fine(t, w)
	inOrder(t, w, "recreate pod basic-tikv-1", "take store 1 of basic-tikv-0 offline", "recreate pod basic-tikv-0")
}

// Larger volumes are wanted while the claim of a store is being deleted. That claim is not resized,
// and the StatefulSet is recreated for the larger size without it. (seed 485)
func TestLargerVolumesWhileAClaimIsGoing(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1}) // no room for the regions of any store
	w.claims[tikv][1].goneAt = w.t
	w.Resize(topology.TiKV, 20)
	_, _ = w.Drive(time.Hour)
	if size := w.sets[tikv].spec.size; size != 20 {
		t.Errorf("claims of %d Gi\n%s", size, w.Transcript())
	}
	w.Scale(topology.TiKV, 4)
	fine(t, w)
}

// A store whose claim is being deleted crashes. With OrderedReady Kubernetes creates no pod of
// another store before it is back, soon after. No store is taken offline while both are missing.
// (seed 50004802)
func TestStoreWhoseClaimIsGoingCrashesBelowOneWithoutAPod(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 5, TiDB: 1, Ordered: [components]bool{tikv: true}})
	w.claims[tikv][1].goneAt = w.t
	w.halt(w.pods[tikv][1], 60)
	w.remove(w.pods[tikv][4])
	w.Pass(30)
	fine(t, w)
	inOrder(t, w, "take store 2 of basic-tikv-1 offline", "recreate pod basic-tikv-1")
}

// There are as many stores as copies, so its regions have no other place. It keeps its old template
// until the user adds a store.
func TestStoreWhoseClaimIsGoingWithoutRoom(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.claims[tikv][1].goneAt = w.t
	w.Upgrade("v2", topology.TiKV)
	p, _ := w.Drive(40 * time.Minute)
	if p.Outcome != plan.Blocked {
		t.Errorf("%s\n%s", gates(p), w.Transcript())
	}
	notInTranscript(t, w, "restart")
	w.Scale(topology.TiKV, 4)
	fine(t, w)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
}

// To suspend a component deletes its pods, and a claim that is being deleted goes with its pod.
func TestSuspendedWhileAClaimIsGoing(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.claims[tikv][1].goneAt = w.t
	w.Suspend(topology.TiKV, topology.TiDB)
	p, _ := w.Drive(40 * time.Minute)
	if p.Outcome != plan.Blocked {
		t.Errorf("%s\n%s", gates(p), w.Transcript())
	}
	w.Suspend()
	fine(t, w)
	w.Suspend(topology.TiKV, topology.TiDB)
	fine(t, w)
}

// The same with all faults: no step of ours ever deletes a copy.
func TestClaimsGoingUnderFaults(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		o := Options{Seed: seed, PD: 3, TiKV: 5, TiDB: 1, Failover: seed%2 == 0, KeepStuck: seed%3 == 0, Faults: someFaults(rng)}
		o.Faults.drawReports(seed)
		o.Faults.Intent, o.Faults.Kubectl, o.Faults.EvictByHand = 0, 0, 0 // no other fault takes the room away
		w := New(o)
		w.Settle(time.Hour)
		w.chaos = true
		w.claims[tikv][rng.IntN(5)].goneAt = w.t
		w.Upgrade("v2", topology.PD, topology.TiKV)
		for until := w.t + 1800; w.t < until; w.Pass(5 + rng.IntN(60)) {
			p, _ := w.Drive(time.Duration(until-w.t) * time.Second)
			w.obey(p)
		}
		w.calm()
		w.Settle(settleTime)
		if len(w.Broken) > 0 {
			t.Fatalf("seed %d: %v", seed, w.Broken)
		}
	}
}

// The host of a member is lost just after its restart. The template is not the cause, since another
// member serves with it: the member is given up during the rollout, which waits for it.
func TestLostInTheMiddleOfARollout(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.Upgrade("v2", topology.PD)
	w.When(func(w *Model) bool {
		p := w.pods[pd][1]
		return p != nil && p.revision == "v2" && p.ready
	}, func() { w.lose(w.pods[pd][1], 7200) })
	_, _ = w.Drive(15 * time.Minute)
	inOrder(t, w, "restart basic-pd-1", "give up basic-pd-1")
	w.Pass(7200)
	fine(t, w)
}

// A member without data waits until PD lets it join. It is not given up for the time that it has
// waited.
func TestWaitingToJoinIsNotLost(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.expel(w.claims[pd][0].data) // by a person, who has given its data up as well
	w.claims[pd][0] = nil
	w.remove(w.pods[pd][0])
	w.lose(w.pods[pd][1], 1800)
	_, _ = w.Drive(10 * time.Minute)
	w.Pass(1200)
	fine(t, w)
	notInTranscript(t, w, "give up basic-pd-0")
}

// The replacement of a store never starts, and the store comes back during a rollout, which waits for the replacement.
// With the recovery that its gate names the replacement leaves, and the rollout goes on.
func TestRolloutWaitsForAReplacement(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	w.lose(w.pods[tikv][1], 6000)
	w.When(func(w *Model) bool { return w.pods[tikv][3] != nil }, func() { w.lose(w.pods[tikv][3], 8000-w.t) })
	for w.t < 7000 {
		if _, _ = w.Drive(time.Hour); w.pods[tikv][3] != nil {
			w.Upgrade("v2", topology.TiKV)
		}
		w.Pass(60)
	}
	p, err := w.Drive(time.Hour)
	if err != nil || p.Outcome != plan.Blocked || w.pods[tikv][1].revision != "v1" {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	if advice := p.Gates[0].Remedy.Line(""); !strings.Contains(advice, "kubectl tidb failover basic recover") {
		t.Errorf("%s: %s", p.Gates[0], advice)
	}
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "scale TiKV from 4 to 3", "restart basic-tikv-1")
}

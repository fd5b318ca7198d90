package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPodLacksVolume: a StatefulSet gets a claim template more, and pod 1 is the first one that has no volume for it. The
// controller makes no pod again that it gets to later, and deletes no surplus pod. With Parallel it gets to pods 1 and 2
// at the same time.
func TestPodLacksVolume(t *testing.T) {
	for _, c := range []struct {
		ordered bool
		lost    int
		made    bool
	}{{true, 0, true}, {true, 2, false}, {true, 3, false}, {false, 0, true}, {false, 2, true}, {false, 3, false}} {
		t.Run(fmt.Sprintf("ordered %t, pod %d is lost", c.ordered, c.lost), func(t *testing.T) {
			w := New(Options{Seed: 1, PD: 3, TiKV: 5, TiDB: 1, Ordered: [components]bool{tikv: c.ordered}})
			w.Settle(time.Hour)
			w.pods[tikv][0].mounts = "wal=/wal"
			written := w.ShownSet(topology.TiKV).Spec
			written.Generation, written.Mounts, written.Replicas = written.Generation+1, "wal=/wal", 4
			w.WriteSet(topology.TiKV, written)
			w.pods[tikv][c.lost] = nil
			w.Pass(60)
			if made := w.pods[tikv][c.lost] != nil; made != c.made {
				t.Errorf("the lost pod is made again: %t", made)
			}
			if w.pods[tikv][4] == nil {
				t.Error("the surplus pod is deleted")
			}
		})
	}
}

// removedVoters is a PD with a second volume for each member. PD has removed some members, whose processes end again
// and again.
func removedVoters(o Options, removed ...int) *Model {
	w := settled(o)
	for _, i := range removed {
		w.expel(w.claims[pd][i].data)
		w.claims[pd][i].marked = true
	}
	w.Pass(60)
	return w
}

// otherLogs is the user who asks for another path, and for the replacement of all members of PD that are wanted.
func otherLogs(w *Model) {
	w.Intent.Mounts[pd] = "log=/other"
	w.Upgrade("v1", topology.PD)
	w.nameUnfit()
}

// With OrderedReady Kubernetes deletes a surplus pod of a voter that PD has removed only when all others are ready. One
// of the others never is before it has new volumes, and these come with the new StatefulSet. (seed 301129304)
func TestSetRemadeBesideASurplusPod(t *testing.T) {
	w := removedVoters(Options{PD: 5, TiKV: 3, TiDB: 1, Mounts: true, Ordered: [components]bool{pd: true}}, 3, 4)
	spec := w.sets[pd].spec
	spec.replicas = 4
	w.change(&w.sets[pd], spec)
	w.Pass(60)
	if w.pods[pd][4] == nil {
		t.Fatal(w.Transcript())
	}
	otherLogs(w)
	fine(t, w)
	inOrder(t, w, "recreate StatefulSet basic-pd with other volumes", "delete left-over claim pd-basic-pd-3", "delete left-over claim pd-basic-pd-4")
}

// A surplus voter that PD has removed leaves only after the voter above it. That one leaves only while all that stay
// serve, and one of these needs the volumes that come with the new StatefulSet. (seed 301224213)
func TestSetRemadeBeforeAScaleIn(t *testing.T) {
	w := removedVoters(Options{PD: 4, TiKV: 3, TiDB: 1, Mounts: true}, 1, 2)
	w.Scale(topology.PD, 2)
	otherLogs(w)
	fine(t, w)
	inOrder(t, w, "recreate StatefulSet basic-pd with other volumes", "delete left-over claim pd-basic-pd-1", "remove PD member basic-pd-3")
}

// The same where the mark of the upper voter was written before the user asked for other volumes. (seed 302607288)
func TestSetRemadeBesideAMarkedVoter(t *testing.T) {
	w := removedVoters(Options{PD: 4, TiKV: 3, TiDB: 1, Mounts: true}, 1, 2)
	w.Scale(topology.PD, 2)
	w.claims[pd][3].marked = true
	otherLogs(w)
	fine(t, w)
	inOrder(t, w, "recreate StatefulSet basic-pd with other volumes", "delete left-over claim pd-basic-pd-1",
		"remove PD member basic-pd-3")
}

// With OrderedReady Kubernetes makes no pod of a voter that PD has removed before another voter is ready, which needs
// the volumes that come with the new StatefulSet.
func TestSetRemadeBeforeAPodIsMade(t *testing.T) {
	w := removedVoters(Options{PD: 5, TiKV: 3, TiDB: 1, Mounts: true, Ordered: [components]bool{pd: true}}, 3, 4)
	w.remove(w.pods[pd][4])
	w.Pass(60)
	if w.pods[pd][4] != nil {
		t.Fatal(w.Transcript())
	}
	otherLogs(w)
	fine(t, w)
	inOrder(t, w, "recreate StatefulSet basic-pd with other volumes", "delete left-over claim pd-basic-pd-3")
}

// A store that PD does not list restarts with other volumes, since it has no data. Until the restart is carried out, it
// joins PD, and its data is on the volumes of its pod. It keeps the pod, and is replaced in its turn. (seed 301131391)
func TestStoreJoinsBeforeItsRestart(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Mounts: true})
	w.Scale(topology.TiKV, 5)
	w.When(func(w *Model) bool { return w.pods[tikv][4] != nil }, func() { w.pods[tikv][4].startAt = never })
	_, _ = w.Drive(time.Minute)
	w.Intent.Mounts[tikv] = "log=/other"
	w.Upgrade("v1", topology.TiKV)
	w.nameUnfit()
	w.OnStep("restart basic-tikv-4", func() {
		w.pods[tikv][4].startAt = w.t
		w.Pass(30)
		if w.ownStore(4) == nil {
			t.Error("the store has not joined")
		}
	})
	fine(t, w)
	inOrder(t, w, "recreate StatefulSet basic-tikv with other volumes", "restart basic-tikv-4", "failed", "take store 5 of basic-tikv-4 offline")
}

// All stores are to be replaced, and the disks of all are nearly full. No store can be taken offline, so that none has
// regions that leave. When the user asks for larger volumes, as the gate says, the volumes of stores that are replaced
// later grow as well. (seed 301301650)
func TestRoomBeforeAReplacement(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Mounts: true, Faults: Faults{Fill: 1}})
	for _, s := range w.stores {
		s.used = defaultSize * gi * 9 / 10
	}
	w.Intent.Mounts[tikv] = "log=/other"
	w.Upgrade("v1", topology.TiKV)
	for i := range 4 {
		w.Replace(w.names[tikv][i], false)
	}
	fine(t, w)
	inOrder(t, w, "PD puts no regions onto any other store", "user: volumes of TiKV of", "grow volume tikv-basic-tikv-0", "take store 4 of basic-tikv-3 offline")
}

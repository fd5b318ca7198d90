package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Reports, and rules, that are judged by an outdated state.

// PD has been away for long, and a store has crashed for want of it again and again. When
// PD is back, it has not heard of the store for long, and the store waits for its next
// start. It is not given up: it serves within minutes. (seed 1795365302242)
func TestStoreThatCrashesForWantOfPD(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Failover: true})
	w.lose(w.pods[pd][0], 2700)
	w.lose(w.pods[pd][1], 2700)
	for range 9 {
		w.halt(w.pods[tikv][3], 290)
		w.Pass(300)
	}
	w.halt(w.pods[tikv][3], 290)
	_, _ = w.Drive(20 * time.Minute)
	notInTranscript(t, w, "give up basic-tikv-3")
	fine(t, w)
}

// An engine that was slow removes a member that was given up when it looked, and that is
// back since, so that another engine has ended the failover. (seed 1795365276913)
func TestRemovalOfMemberWhoseFailoverHasEnded(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Failover: true})
	id := w.pd.memberAt(0).id
	w.failures[pd] = []topology.Failure{{Member: "basic-pd-0", ID: id, Created: w.Now()}}
	w.lose(w.pods[pd][0], 60)
	w.seen = w.sight()
	w.Pass(90)
	w.failures[pd] = nil
	for _, v := range w.judge(step.RemoveMember{Member: "basic-pd-0", ID: id}) {
		if v.Rule != "look" {
			t.Error(v)
		}
	}
	w.seen = w.sight()
	if found := w.judge(step.RemoveMember{Member: "basic-pd-0", ID: id}); len(found) < 2 {
		t.Errorf("the member was not given up: %v", found)
	}
}

// Two members of PD need new data. The image of the lower one does not exist, it was given up, and
// where the user replaces pods no gate asks for that before the upper one serves. That one gets its
// data first. (seed 1795365284745)
func TestVoterWithoutImageBelowOneThatNeedsData(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 3, TiDB: 1, Failover: true})
	w.Manual(topology.PD)
	for i := 3; i < 5; i++ {
		w.expel(w.claims[pd][i].data)
		w.claims[pd][i].marked = true
	}
	w.failures[pd] = []topology.Failure{{Member: "basic-pd-3", ID: w.claims[pd][3].data, Created: w.Now(), Deleted: true}}
	w.remove(w.pods[pd][3])
	w.Pass(3)
	w.When(func(w *Model) bool { return w.pods[pd][3] != nil }, func() {
		p := w.pods[pd][3]
		p.revision, p.flaw = "v0-noimage", noImage
	})
	w.Pass(60)
	w.Intent.Recover = true
	fine(t, w)
	inOrder(t, w, "delete left-over claim pd-basic-pd-4", "user: delete pod basic-pd-3, as asked", "delete left-over claim pd-basic-pd-3")
}

// Who serves is noted only while anybody can know. (seeds 1795365297588, 1795365360471)
func TestStoreOfWhichNothingIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(w *Model)
		known bool
	}{
		"its heartbeats are late":    {func(w *Model) { w.ownStore(0).muffled = w.t + 600 }, false},
		"Kubernetes does not see it": {func(w *Model) { w.pods[tikv][0].unseen = w.t + 600 }, true},
		"PD is away":                 {func(w *Model) { w.lose(w.pods[pd][0], 600) }, true},
		"neither of them":            {func(w *Model) { w.lose(w.pods[pd][0], 600); w.pods[tikv][0].unseen = w.t + 600 }, false},
	} {
		w := settled(Options{PD: 1, TiKV: 3, TiDB: 1})
		tc.spoil(w)
		w.Pass(300)
		if known := w.lastUp[tikv][0] > w.t-60; known != tc.known {
			t.Errorf("%s: known %t", name, known)
		}
	}
}

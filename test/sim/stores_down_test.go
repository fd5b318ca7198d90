package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Stores and servers that do not serve, come back, or restart meanwhile. Random runs have found each of these
// scenarios; the seeds that are named give other runs now.

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

// Members fail with a template that is not wanted any more, below others that serve, while a
// removal waits for them. The gate says what to do there, too, and also about a member whose pod
// Kubernetes cannot create. (seeds 70055077, 70065046, 70071978)
func TestMembersBelowOthersAreReportedInEachPhase(t *testing.T) {
	for name, fail := range map[string]func(*Model){
		"it crashes": func(w *Model) {
			w.pods[tikv][1].flaw, w.pods[tikv][1].revision = crashing, "v0"
		},
		"it has no pod": func(w *Model) {
			w.sets[tikv].current, w.pods[tikv][1] = "v0-refused", nil
		},
	} {
		w := settled(Options{PD: 3, TiKV: 5, TiDB: 1})
		fail(w)
		w.Upgrade("v2", topology.TiKV)
		w.Scale(topology.TiKV, 4)
		w.Pass(60)
		p, err := w.Drive(3 * time.Hour)
		if err != nil || p.Outcome != plan.Blocked {
			t.Fatalf("%s: %s, %v\n%s", name, gates(p), err, w.Transcript())
		}
		fine(t, w)
	}
}

// Kubernetes gets reports from the host of a TiDB server again just before the server is recorded
// as given up. (seeds 1795338588597, 1795338593635, 1795338593965)
func TestServerComesIntoSightWhenItIsGivenUp(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2, Failover: true})
	w.pods[tidb][0].unseen = w.t + 3600
	w.OnStep("give up basic-tidb-0", func() {
		w.pods[tidb][0].unseen = w.t
		w.Pass(30)
	})
	_, _ = w.Drive(time.Hour)
	if !inTranscript(w, "give up basic-tidb-0") {
		t.Error(w.Transcript())
	}
	w.Intent.Recover = true
	fine(t, w)
}

package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// fine ends a scenario: the cluster has to come to rest with no rule broken.
func fine(t *testing.T, w *Model) {
	t.Helper()
	w.Settle(time.Hour)
	if len(w.Broken) > 0 {
		t.Fatalf("%v\n%s", w.Broken, w.Transcript())
	}
}

// inTranscript reports whether the transcript contains a text.
func inTranscript(w *Model, text string) bool { return strings.Contains(w.Transcript(), text) }

// notInTranscript fails a scenario in which something was done that must not be done.
func notInTranscript(t *testing.T, w *Model, text string) {
	t.Helper()
	if inTranscript(w, text) {
		t.Fatalf("the transcript has %q\n%s", text, w.Transcript())
	}
}

// A store that gives its regions up serves until it has none. A peer that
// crashes just then must not have it taken for one that is down as well.
func TestOfflineStoreIsNotRestarted(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.OnStep("take store", func() {
		w.Upgrade("v2", topology.TiKV)
		w.lose(w.pods[tikv][0], 60)
	})
	w.Settle(time.Hour)
	notInTranscript(t, w, "restart basic-tikv-3")
	fine(t, w)
}

// A store whose removal is called off is brought back even if it is the one to
// be restarted next.
func TestCancelledScaleInOfOutdatedStore(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.When(func(w *Model) bool { return w.stores[3].state == state.StoreOffline }, func() {
		w.Scale(topology.TiKV, 4)
		w.Upgrade("v2", topology.TiKV)
	})
	fine(t, w)
	notInTranscript(t, w, "delete left-over claim")
	if !inTranscript(w, "bring store 4 of basic-tikv-3 back up") {
		t.Error(w.Transcript())
	}
}

// A removal that went too far ends before more members are asked for.
func TestScaleOutOverTombstone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Scale(topology.TiKV, 3)
	w.When(func(w *Model) bool { return w.stores[3].state == state.StoreTombstone }, func() { w.Scale(topology.TiKV, 6) })
	fine(t, w)
}

// A user scales in to remove members that are down. One of them must not hold up the
// removal of another.
func TestScaleInOfDeadMembers(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 5, TiDB: 1})
	w.lose(w.pods[pd][3], 20000)
	w.lose(w.pods[tikv][3], 20000)
	w.Pass(60)
	w.Scale(topology.PD, 3)
	w.Scale(topology.TiKV, 3)
	if p, err := w.Drive(2 * time.Hour); err == nil && p.Outcome != plan.Blocked {
		t.Fatalf("%s before the hosts are back", p.Outcome)
	}
	for k, n := range map[kind]int{pd: 3, tikv: 3} {
		if w.sets[k].spec.replicas != n {
			t.Errorf("%s: %d replicas\n%s", kinds[k], w.sets[k].spec.replicas, w.Transcript())
		}
	}
}

// The new image cannot be pulled, and while the first pod fails with it another
// one crashes with the old one. Moving that one too would end the quorum.
func TestCrashDuringBadRollout(t *testing.T) {
	for _, k := range []kind{pd, tikv} {
		w := settled(Options{})
		w.Upgrade("v2-noimage", kinds[k])
		w.When(func(w *Model) bool { p := w.pods[k][2]; return p != nil && p.problem == "ImagePullBackOff" }, func() {
			w.halt(w.pods[k][1], 90)
		})
		_, _ = w.Drive(time.Hour)
		notInTranscript(t, w, "restart "+w.names[k][1])
		w.Upgrade("v3", kinds[k])
		fine(t, w)
	}
}

// Pods that an admission webhook refuses do not exist, so nothing restarts them.
func TestRefusedPods(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2-refused")
	_, _ = w.Drive(20 * time.Minute)
	w.Upgrade("v3")
	fine(t, w)
}

// Members in another Kubernetes cluster belong to the quorum as well.
func TestMembersElsewhere(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Elsewhere: 2})
	w.pd.elsewhere = w.t + 600
	w.Upgrade("v2", topology.PD)
	fine(t, w)
	if w.t < w.pd.elsewhere {
		t.Error("the rollout did not wait for them")
	}
}

// A record of an eviction that a dead run left behind days ago says nothing of
// one that has to begin now.
func TestRecordOfDeadRun(t *testing.T) { t.Run("tikv-11-4", recordOfDeadRun) }

func recordOfDeadRun(t *testing.T) {
	w := settled(Options{EvictTimeout: time.Minute})
	w.Upgrade("v2", topology.TiKV)
	w.OnStep("restart basic-tikv-2", w.kill)
	_, _ = w.Drive(time.Hour)
	w.ledger = append(w.ledger, record{Eviction: state.Eviction{StoreID: w.stores[1].id, Member: "basic-tikv-1", Since: w.Now()}})
	w.Pass(3 * 86400)
	fine(t, w)
	if w.Soft.WithLeaders > 0 {
		t.Error(w.Transcript())
	}
}

// tikv-11-44: who rather has a store keep its leaders than lose them gets that:
// the run ends, and the eviction with it.
func TestEvictionFails(t *testing.T) {
	w := settled(Options{Eviction: plan.Eviction{Timeout: time.Second, OnTimeout: plan.Fail}})
	w.Upgrade("v2", topology.TiKV)
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	if len(w.evicts) > 0 || len(w.ledger) > 0 || inTranscript(w, "restart") {
		t.Error(w.Transcript())
	}
	w.Eviction = plan.Eviction{Timeout: 10 * time.Minute, OnTimeout: plan.Fail}
	fine(t, w)
}

// TestStuckEviction: when PD moves no leaders and nobody has set a time, a run ends, and the store keeps its
// leaders, unless the user asks for its restart.
func TestStuckEviction(t *testing.T) {
	for name, lapse := range map[string]plan.Lapse{"unless asked": plan.Default, "asked": plan.Proceed} {
		w := settled(Options{Eviction: plan.Eviction{OnTimeout: lapse}})
		w.Upgrade("v2", topology.TiKV)
		w.OnStep("evict region leaders from basic-tikv-2", func() { w.pd.idle = w.t + 1200 })
		p, err := w.Drive(18 * time.Minute)
		restarted := inTranscript(w, "restart basic-tikv-2")
		if restarted != (lapse == plan.Proceed) || !restarted && (err != nil || p.Outcome != plan.Blocked || len(w.evicts) > 0) {
			t.Fatalf("%s: %s, %v\n%s", name, p.Outcome, err, w.Transcript())
		}
		fine(t, w)
	}
}

// tikv-11-36: a run that goes on after a crash waits for the leaders that the one
// before it has taken away, and knows how many they were.
func TestLeadersComeBackAfterCrash(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool {
		r, ok := w.recordOf(w.stores[2].id)
		return ok && !r.Ended.IsZero()
	}, w.kill)
	_, _ = w.Drive(time.Hour)
	for i := range w.regions {
		if r := &w.regions[i]; r.leader == w.stores[2] {
			w.lead(r, w.stores[1])
		}
	}
	w.OnStep("evict region leaders from basic-tikv-1", func() {
		if n := w.stores[2].leaders; n < 6 {
			t.Errorf("the next store begins with %d of 8 leaders back on the last one", n)
		}
	})
	fine(t, w)
	if !inTranscript(w, "leaders of another store not back: basic-tikv-2 has 0 of 400") {
		t.Error(w.Transcript())
	}
}

// Without a readiness probe a pod that crashes again and again is Ready in between.
// Its peers stay up, a person is asked in the end, and another template helps.
func TestFrail(t *testing.T) {
	for k, name := range kinds {
		w := settled(Options{PD: 3, TiKV: 3, TiFlash: 3, Pump: 3, TiDB: 3, TiProxy: 3, TiCDC: 3, Feeds: 6, MinReady: 30 * time.Second})
		w.Upgrade("v2-frail", name)
		w.When(func(w *Model) bool { return w.pods[k][2] != nil && w.pods[k][2].crashes == 3 }, func() {
			w.OnStep("restart "+w.names[k][0], func() { t.Errorf("%s\n%s", w.names[k][0], w.Transcript()) })
		})
		if p, err := w.Drive(2 * time.Hour); err != nil || p.Outcome != plan.Blocked || !inTranscript(w, "blocked: "+w.names[k][2]+" not serving") {
			t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
		}
		w.watches = nil
		w.Upgrade("v3", name)
		fine(t, w)
	}
}

// A scheduler that is not ours stays after a restart of the store.
func TestSchedulerOfOthers(t *testing.T) {
	w := settled(Options{})
	w.evicts[w.stores[1].id] = &scheduler{}
	w.Upgrade("v2", topology.TiKV)
	fine(t, w)
	if w.evicts[w.stores[1].id] == nil {
		t.Error(w.Transcript())
	}
}

// PD forgets a scheduler that the ledger remembers: the ledger is not evidence.
func TestForgottenScheduler(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return len(w.ledger) > 0 && w.stores[2].leaders < 5 }, func() { clear(w.evicts) })
	fine(t, w)
	if w.Soft.WithLeaders > 0 {
		t.Error(w.Transcript())
	}
}

// When only a person can help, nothing temporary is left behind.
func TestBlockedLeavesNothing(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return len(w.evicts) > 0 }, func() { w.lose(w.pods[tikv][0], 1500) })
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
		t.Fatalf("%s, %v\n%s", p.Outcome, err, w.Transcript())
	}
	if len(w.evicts) > 0 || len(w.ledger) > 0 {
		t.Error(w.Transcript())
	}
	w.Pass(1500)
	fine(t, w)
}

// Pods are scaled away by hand. Members that PD counts on come back to their data, even
// those whose absence is why PD cannot be asked.
func TestKubectlScale(t *testing.T) {
	for _, n := range []int{0, 1, 2} {
		w := settled(Options{})
		for k := range kinds {
			spec := w.sets[k].spec
			spec.replicas = min(n, spec.replicas)
			w.change(&w.sets[k], spec)
		}
		w.Pass(30)
		fine(t, w)
		notInTranscript(t, w, "delete left-over claim")
	}
}

// The same, where the user wants the rest no more: PD has to remove members
// whose pods are gone already.
func TestKubectlScaleThenScaleIn(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 5, TiDB: 1})
	for k, n := range map[kind]int{pd: 4, tikv: 4} {
		spec := w.sets[k].spec
		spec.replicas = n
		w.change(&w.sets[k], spec)
	}
	w.Pass(60)
	w.Scale(topology.PD, 3)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
}

// A host with the last store is lost. More stores are what the user needs now.
func TestScaleOutPastLostHost(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.lose(w.pods[tikv][3], 4000)
	w.lose(w.pods[tidb][1], 4000)
	w.Pass(60)
	w.Scale(topology.TiKV, 5)
	w.Scale(topology.TiDB, 3)
	_, _ = w.Drive(15 * time.Minute)
	if !w.fit(tikv, 4) || !w.fit(tidb, 2) {
		t.Fatal(w.Transcript())
	}
	w.Pass(4000)
	fine(t, w)
}

// While a rollout fails, a member above the failing one would put it out of the reach
// of a partition for ever.
func TestNoScaleOutOverFailingRollout(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	w.Upgrade("v2-crashing", topology.TiKV)
	w.OnStep("restart basic-tikv-3", func() { w.Scale(topology.TiKV, 5) })
	_, _ = w.Drive(30 * time.Minute)
	w.Upgrade("v1", topology.TiKV)
	fine(t, w)
}

// Claims of removed members go where the user asks for that, and the next member
// of the ordinal begins again. (tikv-11-37, tidb-B9)
func TestReclaim(t *testing.T) {
	w := settled(Options{PD: 5, TiKV: 5, TiDB: 1, Reclaims: true})
	w.Scale(topology.PD, 3)
	w.Scale(topology.TiKV, 3)
	fine(t, w)
	for k := range kinds {
		for i := 3; i < limit; i++ {
			if c := w.claims[k][i]; c != nil && c.goneAt == never {
				t.Errorf("%s is there\n%s", c.name, w.Transcript())
			}
		}
	}
	w.Scale(topology.TiKV, 4)
	fine(t, w)
	if s := w.ownStore(3); s == nil || s.id <= 5 {
		t.Errorf("got %+v\n%s", s, w.Transcript())
	}
}

// The user calls a scale-in off at the last moment: the data of a member that is wanted
// again must not be deleted. (tikv-11-37)
func TestReclaimCalledOff(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1, Reclaims: true})
	w.Scale(topology.TiKV, 3)
	w.OnStep("delete left-over claim", func() {
		w.Scale(topology.TiKV, 4)
		spec := w.sets[tikv].spec
		spec.replicas = 4
		w.change(&w.sets[tikv], spec)
	})
	fine(t, w)
}

// A tidb-operator goes in the middle of an upgrade: its eviction is taken over and
// ended, and its mark on the pod goes, so that a scheduler that a person makes later
// stays.
func TestEvictionOfOperatorIsEnded(t *testing.T) {
	for _, upgrade := range []bool{false, true} {
		w := settled(Options{})
		id := w.stores[2].id
		w.evicts[id] = &scheduler{}
		w.pods[tikv][2].evictionBegun = w.Now()
		if upgrade {
			w.Upgrade("v2", topology.TiKV)
		}
		fine(t, w)
		if w.evicts[id] != nil || !w.pods[tikv][2].evictionBegun.IsZero() || w.Soft.WithLeaders > 0 {
			t.Fatal(w.Transcript())
		}
		w.evicts[id] = &scheduler{}
		w.Upgrade("v3", topology.TiDB)
		fine(t, w)
		if w.evicts[id] == nil {
			t.Error(w.Transcript())
		}
	}
}

// A store that a person takes offline in PD stays so, whatever is asked of the cluster.
// What it has moves away, and its member gets a new store.
func TestStoreTakenOfflineByAPerson(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 1})
	s := w.stores[1]
	s.state, s.emptyAt = state.StoreOffline, w.t
	w.Upgrade("v2", topology.TiKV)
	fine(t, w)
	notInTranscript(t, w, "back up")
	if s.state != state.StoreTombstone || !inTranscript(w, "store 2 was taken offline in PD by another user") {
		t.Error(w.Transcript())
	}
}

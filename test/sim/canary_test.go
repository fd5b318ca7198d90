package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// held returns a cluster whose upgrade has stopped at a canary of one store of four.
func held(t *testing.T) *Model {
	t.Helper()
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.Canary(topology.TiKV, 1)
	w.Upgrade("v2")
	w.stopsAtCanary(t)
	w.hasTemplates(t, pd, "v2", "v2", "v2")
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v2")
	w.hasTemplates(t, tidb, "v1", "v1")
	return w
}

// stopsAtCanary drives until the engine ends, which has to be at the canary.
func (w *Model) stopsAtCanary(t *testing.T) {
	t.Helper()
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Canary {
		t.Fatalf("%s, %v", gates(p), err)
	}
}

// hasTemplates checks which template the pods of a component have.
func (w *Model) hasTemplates(t *testing.T, k kind, want ...string) {
	t.Helper()
	for i, template := range want {
		if p := w.pods[k][i]; p == nil || p.revision != template {
			t.Errorf("%s: %+v, want %s", w.names[k][i], p, template)
		}
	}
}

func (w *Model) sound(t *testing.T) {
	t.Helper()
	for _, v := range w.Broken {
		t.Error(v)
	}
}

// TestCanaryHolds: a day later, and after crashes, the others run what they ran, and the canary serves. After
// the promotion the rollout goes on.
func TestCanaryHolds(t *testing.T) {
	w := held(t)
	w.Pass(24 * 3600)
	for _, lost := range []struct {
		k kind
		i int
	}{{tikv, 1}, {tidb, 0}, {tikv, 3}} {
		w.remove(w.pods[lost.k][lost.i]) // Kubernetes makes it again
		w.stopsAtCanary(t)
	}
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v2")
	w.hasTemplates(t, tidb, "v1", "v1")
	w.Promote()
	w.Settle(time.Hour)
	w.hasTemplates(t, tikv, "v2", "v2", "v2", "v2")
	w.hasTemplates(t, tidb, "v2", "v2")
	w.sound(t)
}

// TestCanaryIsTakenBack: without a promotion the former template comes back to those that have the new one.
func TestCanaryIsTakenBack(t *testing.T) {
	w := held(t)
	w.Upgrade("v1")
	w.Promote()
	w.Settle(time.Hour)
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v1")
	w.sound(t)
}

// TestCanaryIsScaled: stores that are added while a canary is held run what it runs, and where it is removed the
// next ordinal becomes the canary.
func TestCanaryIsScaled(t *testing.T) {
	w := held(t)
	w.Scale(topology.TiKV, 5)
	w.Scale(topology.TiDB, 3)
	w.stopsAtCanary(t)
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v2", "v2")
	w.hasTemplates(t, tidb, "v1", "v1", "v1")
	w.Scale(topology.TiKV, 3)
	w.stopsAtCanary(t)
	w.hasTemplates(t, tikv, "v1", "v1", "v2")
	w.sound(t)
}

// TestCanaryMovesOn: a larger canary, and one of a later component.
func TestCanaryMovesOn(t *testing.T) {
	w := held(t)
	w.Canary(topology.TiKV, 3)
	w.stopsAtCanary(t)
	w.hasTemplates(t, tikv, "v1", "v2", "v2", "v2")
	w.Canary(topology.TiDB, 1)
	w.stopsAtCanary(t)
	w.hasTemplates(t, tikv, "v2", "v2", "v2", "v2")
	w.hasTemplates(t, tidb, "v1", "v2")
	w.sound(t)
}

// TestCanaryOfNone: with 0 members the rollout stops before the component. A store that crashes comes back as it was.
func TestCanaryOfNone(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2})
	w.Canary(topology.TiKV, 0)
	w.Upgrade("v2")
	w.stopsAtCanary(t)
	w.hasTemplates(t, pd, "v2", "v2", "v2")
	w.hasTemplates(t, tikv, "v1", "v1", "v1")
	w.hasTemplates(t, tidb, "v1", "v1")
	w.Pass(24 * 3600)
	w.remove(w.pods[tikv][1]) // Kubernetes makes it again
	w.stopsAtCanary(t)
	w.hasTemplates(t, tikv, "v1", "v1", "v1")
	w.Promote()
	fine(t, w)
	w.hasTemplates(t, tikv, "v2", "v2", "v2")
}

// TestCanaryIsReplaced: another template that comes while a canary is held reaches the canary only.
func TestCanaryIsReplaced(t *testing.T) {
	w := held(t)
	w.Upgrade("v3")
	w.stopsAtCanary(t)
	w.hasTemplates(t, pd, "v3", "v3", "v3")
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v3")
	w.sound(t)
}

// TestStoreIsLostBesideACanary: a store that is lost while a canary is held is replaced.
func TestStoreIsLostBesideACanary(t *testing.T) {
	w := held(t)
	w.Failover, w.chaos = true, true
	w.lose(w.pods[tikv][0], 4*3600)
	for range 6 { // a run ends where only time helps
		_, _ = w.Drive(30 * time.Minute)
		w.Pass(600)
	}
	if len(w.failures[tikv]) != 1 || w.pods[tikv][4] == nil {
		t.Errorf("failures %v", w.failures[tikv])
	}
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v2", "v2")
	w.sound(t)
}

// TestCanaryFails: a template with which the canary does not start takes nothing else down, and can be taken
// back.
func TestCanaryFails(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2, KeepStuck: true})
	w.Canary(topology.TiKV, 1)
	w.Upgrade("v2-crashing", topology.TiKV)
	if p, err := w.Drive(time.Hour); err != nil || p.Outcome != plan.Blocked {
		t.Fatalf("%s, %v", gates(p), err)
	}
	w.Upgrade("v1")
	w.Promote()
	w.Settle(time.Hour)
	w.hasTemplates(t, tikv, "v1", "v1", "v1", "v1")
	w.sound(t)
}

// TestCanaryHoldsTheCure: a server that fails with its old template is held by the canary, and the gate of the canary
// says so, since nobody else would: the new template is the cure.
func TestCanaryHoldsTheCure(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 1})
	w.Upgrade("v2-noimage", topology.TiDB)
	_, _ = w.Drive(time.Hour)
	w.Canary(topology.TiDB, 1)
	w.Upgrade("v3", topology.TiDB)
	p, _ := w.Drive(time.Hour)
	says := slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.Reason == plan.CanaryPromoted })
	if p.Outcome != plan.Blocked && p.Outcome != plan.Canary || !says {
		t.Fatal(gates(p))
	}
	w.Promote()
	w.Settle(time.Hour)
	w.sound(t)
}

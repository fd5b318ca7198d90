package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// TestUpgradeDuringMaintenance: a node goes down for its maintenance after an upgrade was asked for. Until the
// maintenance has ended, only members on the node restart, and then the upgrade goes on.
func TestUpgradeDuringMaintenance(t *testing.T) {
	w := settled(Options{})
	w.maintain(nodeOf(1))
	before := w.pods
	w.Upgrade("v2")
	p, _ := w.Drive(10 * time.Minute)
	if !slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.Reason == plan.MaintenanceEnded }) {
		t.Errorf("waits for %s", gates(p))
	}
	for _, k := range w.in() {
		if p := w.pods[k][1]; p != nil {
			w.lose(p, 300)
		}
	}
	_, _ = w.Drive(20 * time.Minute)
	for _, k := range w.in() {
		for i, p := range before[k] {
			if i != 1 && w.pods[k][i] != p {
				t.Errorf("%s has restarted while node-1 was under maintenance", w.names[k][i])
			}
		}
	}
	w.endMaintenance(nodeOf(1))
	w.Settle(3 * time.Hour)
	for _, v := range w.Broken {
		t.Error(v)
	}
}

package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// After its API server was away for long, Kubernetes reports no pod as Ready. The database reports
// that all members serve: a restart would disturb clients, so leaders are evicted first, as always.
func TestOutOfSight(t *testing.T) {
	for _, seconds := range []int64{60, 119} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.loseSight(seconds)
		w.Upgrade("v2")
		fine(t, w)
		inOrder(t, w, "evict region leaders from basic-tikv-3", "restart basic-tikv-3")
	}
}

// While Kubernetes gets no reports from hosts, the members cannot be asked either, so nothing is
// restarted, however long that takes.
func TestOutOfSightForLong(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.loseSight(3600)
	w.Upgrade("v2", topology.TiKV)
	w.Pass(5)
	_, _ = w.Drive(50 * time.Minute)
	if w.Soft.Restarts > 0 {
		t.Errorf("%d members were restarted", w.Soft.Restarts)
	}
	w.Pass(3600)
	fine(t, w)
}

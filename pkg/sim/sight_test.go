package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Kubernetes loses sight of all hosts when its API server was away for long, and says
// of no pod that it is Ready. The database says that all of them serve: a restart
// would not be free, so stores are asked to give up their leaders as ever.
func TestOutOfSight(t *testing.T) {
	for _, seconds := range []int64{60, 119} {
		w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
		w.lookAway(seconds)
		w.Upgrade("v2")
		fine(t, w)
		tellsInOrder(t, w, "evict region leaders from basic-tikv-3", "restart basic-tikv-3")
	}
}

// What stays out of sight is restarted in the end, or nothing could bring a member to
// a template that its readiness needs.
func TestOutOfSightForLong(t *testing.T) {
	awaited(t)
	w := settled(Options{PD: 3, TiKV: 4, TiDB: 2})
	w.lookAway(3600)
	w.Upgrade("v2", topology.TiKV)
	w.Pass(5)
	_, _ = w.Drive(5 * time.Minute)
	tellsInOrder(t, w, "else it is restarted", "restart basic-tikv-3")
	w.Pass(3600)
	fine(t, w)
}

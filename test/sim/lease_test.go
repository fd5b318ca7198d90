package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// An engine that was interrupted takes back what is temporary, unless it loses its lease just then:
// the new holder may need what there is. (seed 19942)
func TestLeaseIsLostDuringCleanUp(t *testing.T) {
	w := settled(Options{})
	w.Upgrade("v2", topology.TiKV)
	w.When(func(w *Model) bool { return len(w.evicts) > 0 && w.stores[2].leaders < 5 }, func() {
		w.Stop()
		w.drivers[0].finds = w.t + 1
	})
	_, err := w.Drive(time.Hour)
	if err == nil || len(w.evicts) == 0 {
		t.Fatalf("%v\n%s", err, w.Transcript())
	}
	fine(t, w)
}

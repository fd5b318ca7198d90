package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Regions have replicas on a store of another TidbCluster with the same PD. While that one is away, no store here
// restarts or leaves: regions would have no quorum. When it is back, everything goes on.
func TestStoreElsewhereIsAPeer(t *testing.T) {
	for name, change := range map[string]func(*Model){
		"upgrade":  func(w *Model) { w.Upgrade("v2", topology.TiKV) },
		"scale in": func(w *Model) { w.Scale(topology.TiKV, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(Options{PD: 3, TiKV: 4, StoresElsewhere: 1})
			w.Pass(60)
			far := w.stores[len(w.stores)-1]
			if !far.elsewhere() || far.regions == 0 {
				t.Fatalf("no store elsewhere has regions: %+v", *far)
			}
			far.awayUntil = w.t + 1200
			w.Pass(60)
			change(w)
			_, _ = w.Drive(10 * time.Minute)
			notInTranscript(t, w, "restart basic-tikv")
			notInTranscript(t, w, "take store")
			far.awayUntil = 0
			fine(t, w)
		})
	}
}

package sim

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestOldReport: by an old report of its kubelet a store does not run, and nothing can be asked through that kubelet.
// It serves and has leaders. What PD says of it proves nothing either, so that no step takes the store for one that is
// free.
func TestOldReport(t *testing.T) {
	for name, blind := range map[string]func(*Model, int64){
		"PD has a new leader":   func(w *Model, _ int64) { w.resign() },
		"PD cannot be asked":    func(w *Model, seconds int64) { w.pd.silentUntil = w.t + seconds },
		"PD calls it Up":        func(*Model, int64) {},
		"its port can be asked": func(w *Model, _ int64) { w.pods[tikv][2].unreachable = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 20 {
				w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Seed: uint64(seed)})
				w.Faults.Saved = true
				w.Upgrade("v2", topology.TiKV)
				at := w.t + int64(2+seed)
				w.When(func(w *Model) bool { return w.t >= at }, func() {
					if p := w.pods[tikv][2]; p != nil && p.running {
						w.misreport(p, 120, true)
						blind(w, 120)
					}
				})
				_, _ = w.Drive(10 * time.Minute)
				if len(w.Broken) > 0 {
					t.Fatalf("seed %d: %v\n%s", seed, w.Broken, w.Transcript())
				}
				fine(t, w)
			}
		})
	}
}

package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPodHasEnded: a pod ends for good, and its process a while after that is reported. With a StatefulSet controller
// that replaces it, and without, the cluster converges, and no process that runs is taken away.
func TestPodHasEnded(t *testing.T) {
	for _, k := range []kind{pd, tikv, tidb} {
		for _, keep := range []bool{false, true} {
			for _, ordered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, kept %v, one after the other %v", kinds[k], keep, ordered), func(t *testing.T) {
					for seed := range uint64(10) {
						o := Options{PD: 3, TiKV: 3, TiDB: 2, Seed: seed, KeepEnded: keep}
						o.Ordered[k] = ordered
						w := settled(o)
						victim := int(seed % 2)
						uid := w.pods[k][victim].uid
						w.evict(w.pods[k][victim], int64(seed)*earlyPhase/10)
						fine(t, w)
						if p := w.pods[k][victim]; p == nil || p.uid == uid {
							t.Fatalf("the pod stays\n%s", w.Transcript())
						}
						if took := inTranscript(w, "recreate pod "+w.names[k][victim]+", which has ended"); took != keep {
							t.Fatalf("recreated by a step: %v\n%s", took, w.Transcript())
						}
					}
				})
			}
		}
	}
}

// TestPodHasEndedInRollout: the same in a rollout, where a pod that has ended is also restarted with the new template.
func TestPodHasEndedInRollout(t *testing.T) {
	for seed := range uint64(15) {
		w := settled(Options{PD: 3, TiKV: 3, TiDB: 1, Seed: seed, KeepEnded: true})
		w.Upgrade("v2", topology.TiKV)
		at := w.t + int64(4*seed) // the rollout takes longer
		w.When(func(w *Model) bool { return w.t >= at }, func() {
			if p := w.pods[tikv][seed%3]; p != nil && p.running && !p.terminating() {
				w.evict(p, 30)
			}
		})
		_, _ = w.Drive(10 * time.Minute)
		fine(t, w)
	}
}

// TestAllPodsHaveEnded: a pool of nodes was shut down in order, so that all pods have ended with exit code 0.
func TestAllPodsHaveEnded(t *testing.T) {
	w := settled(Options{PD: 3, TiKV: 3, TiDB: 2, KeepEnded: true})
	for _, k := range w.in() {
		for _, p := range w.pods[k] {
			if p != nil {
				w.evict(p, 0)
			}
		}
	}
	fine(t, w)
}

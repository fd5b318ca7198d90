package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// clocks are how far the clocks of hosts are ahead of that of the API server, in seconds.
// What a host says whose clock is behind, package observe corrects; it cannot tell one
// that is ahead.
type clocks [3][limit]int64

// offset is how far clocks may be off, in seconds.
const offset = 240

// offsetClocks has the clocks of hosts be off, in one world of four.
func (w *World) offsetClocks() {
	rng := rand.New(rand.NewPCG(w.Seed, 7))
	if rng.IntN(4) > 0 {
		return
	}
	for k := range kinds {
		for i := range limit {
			w.clocks[k][i] = max(0, rng.Int64N(2*offset)-offset)
		}
	}
}

// byHost has times of a pod that its kubelet tells be those of its host. While Kubernetes
// hears nothing of the host, it says itself that the pod is not Ready.
func (w *World) byHost(k kind, i int, out *state.Pod) {
	ahead := time.Duration(w.clocks[k][i]) * time.Second
	if ahead == 0 {
		return
	}
	for _, t := range []*time.Time{&out.Started, &out.Last.Started, &out.Last.Ended} {
		if !t.IsZero() {
			*t = t.Add(ahead)
		}
	}
	if p := w.pods[k][i]; !out.Terminating && p.since > p.made && p.lost <= w.t && p.unseen <= w.t {
		out.Since = out.Since.Add(ahead)
	}
}

package sim

import (
	"math/rand/v2"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// clocks are how far the clocks of hosts are ahead of that of the API server, in seconds.
// Package observe corrects times of a host whose clock is behind; it cannot see that one
// is ahead.
type clocks [3][limit]int64

// offset is how far clocks may be off, in seconds.
const offset = 240

// offsetClocks sets the clocks of hosts wrong, in one simulated cluster of four.
func (w *Model) offsetClocks() {
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

// byHost sets the times of a pod that its kubelet reports to the clock of its host. While
// Kubernetes gets no report from the host, it reports itself that the pod is not Ready.
func (w *Model) byHost(k kind, i int, out *state.Pod) {
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

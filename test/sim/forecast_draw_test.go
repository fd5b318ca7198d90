package sim

import (
	"math/rand/v2"
	"time"
)

// drawnAtRest is a cluster that has converged, drawn from the options of random runs, without faults.
func drawnAtRest(seed uint64) *Model {
	rng := rand.New(rand.NewPCG(seed, 21))
	o := Options{
		Seed: seed, PD: pick(rng, 1, 3, 3, 5), TiKV: pick(rng, 3, 4, 5, 6), TiDB: pick(rng, 1, 2, 3),
		KeepStuck: rng.IntN(2) == 0, MinReady: pick(rng, 0, 0, 30*time.Second),
		Ordered:  [components]bool{pd: rng.IntN(4) == 0, tikv: rng.IntN(4) == 0, tidb: rng.IntN(4) == 0},
		ScaleOut: pick(rng, 1, 1, 2, 3), ScaleIn: pick(rng, 1, 1, 2, 3), Reclaims: rng.IntN(3) == 0,
	}
	drawPlacement(&o)
	drawOptional(&o)
	o.Faults, o.RulesOff = Faults{}, false
	w := New(o)
	w.Settle(settleTime)
	w.Pass(int(apart / time.Second))
	return w
}

// changeSome is a user who changes one to three things at once.
func (w *Model) changeSome(rng *rand.Rand) {
	in := w.in()
	for range 1 + rng.IntN(3) {
		k := in[rng.IntN(len(in))]
		switch rng.IntN(5) {
		case 0:
			w.Upgrade("v2")
		case 1:
			w.Upgrade("v2", kinds[k])
		case 2:
			w.Scale(kinds[k], max(w.Intent.Replicas[k]+1+rng.IntN(2), 3))
		case 3:
			least := 1
			if k == tikv || k == pd { // a PD of two has no quorum during a restart
				least = min(3, w.Intent.Replicas[k])
			}
			w.Scale(kinds[k], max(w.Intent.Replicas[k]-1-rng.IntN(2), least))
		default:
			if w.Intent.Size[k] > 0 {
				w.Resize(kinds[k], w.Intent.Size[k]+5)
			}
		}
	}
}

package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// drawStalls has a person in some simulated clusters set what keeps PD from moving leaders or regions. PD accepts
// evictions and removals all the same. That is drawn separately, so that the other runs stay as they are.
func drawStalls(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 31))
	o.Faults.Stall = pick(rng, 0, 0, 0, 1./400)
}

// stall is what a person has set in PD, and until when. The stores in it are not used.
type stall struct {
	state.Scheduling
	until int64
}

// stallPD is a person at pd-ctl, or an import that begins.
func (w *Model) stallPD() {
	kinds := [...]state.Scheduling{
		{Halted: true}, {NoLeaders: true}, {NoReplicas: true}, {EvictionPaused: true}, {NoBatch: true}, {Denied: []string{"import/1"}}, {KeepsOffline: true},
	}
	w.pd.stall = stall{kinds[w.rng.IntN(len(kinds))], w.t + w.between(60, 3000)}
	w.note("fault: PD is set to %+v until %s", w.pd.stall.Scheduling, clock(w.pd.stall.until))
}

// stalled is what keeps PD from moving something now.
func (w *Model) stalled() state.Scheduling {
	if w.t >= w.pd.stall.until {
		return state.Scheduling{}
	}
	return w.pd.stall.Scheduling
}

// schedules is what PD shows of that.
func (w *Model) schedules() state.Scheduling {
	s := w.stalled()
	s.LowSpaceRatio = lowSpaceRatio
	for _, o := range w.stores {
		if w.evicts[o.id] != nil {
			s.Evicting = append(s.Evicting, o.id)
		}
	}
	if len(s.Evicting) == 0 || w.t < w.pd.loadedAt {
		s.Evicting, s.NoBatch, s.EvictionPaused = nil, false, false
	}
	return s
}

// leadersStay reports whether PD moves no leader of a region, by its number, off a store with a scheduler.
func (w *Model) leadersStay(region int) bool {
	s := w.stalled()
	limited := w.t < w.pd.limit.until
	return s.Halted || s.NoLeaders && !limited || s.EvictionPaused || s.NoBatch || len(s.Denied) > 0 && region%2 == 0
}

// keepsLeaders reports whether PD shows that it evicts no leaders, or not all of them. No step of ours ends that.
func (w *Model) keepsLeaders() bool {
	s := w.stalled()
	return w.known() && (s.Halted || s.NoLeaders && w.Eviction.MaxMoves == 0 || s.EvictionPaused || len(s.Denied) > 0)
}

// replicasStay reports whether PD moves no replica off a store.
func (w *Model) replicasStay(from *store) bool {
	s := w.stalled()
	return s.Halted || s.NoReplicas || s.KeepsOffline && w.flash.off && from.state == state.StoreOffline
}

// moveAgain is what an eviction of ours corrects: all stores of the scheduler are ours.
func (w *Model) moveAgain() {
	for id := range w.evicts {
		if r, known := w.recordOf(id); !known || r.theirs || !r.Ended.IsZero() {
			return
		}
	}
	if w.pd.stall.NoBatch {
		w.pd.stall = stall{}
	}
}

// unstallByHand is a person who does what a gate asks for.
func (w *Model) unstallByHand(g plan.Gate) {
	asked := slices.Contains([]plan.Reason{plan.LeadersEvicted, plan.RegionsMoved}, g.Reason)
	if g.Blocked && asked && w.t < w.pd.stall.until && (!w.chaos || w.rng.IntN(4) == 0) {
		w.note("user: PD may move leaders and regions again")
		w.pd.stall = stall{}
	}
}

package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// tables are how many regions are of tables that ask for replicas in TiFlash.
const tables = regions / 2

// learnersMissing reports whether a table has not as many replicas in TiFlash as it asks for.
func (w *Model) learnersMissing() bool {
	for i := range min(tables, len(w.regions)) {
		if len(w.regions[i].learners) != w.asks {
			return true
		}
	}
	return false
}

// moveLearners is what PD does for replicas in TiFlash. PD adds missing replicas, takes surplus
// replicas away, and moves replicas off stores that leave or are Down. Without another place a
// replica stays where it is.
func (w *Model) moveLearners() {
	if s := w.stalled(); s.Halted || s.NoReplicas {
		return
	}
	for i := range min(tables, len(w.regions)) {
		r := &w.regions[i]
		if !r.quorum() {
			continue
		}
		if len(r.learners) > w.asks {
			w.forgetLearner(r, w.leastNeeded(r))
			continue
		}
		at := slices.IndexFunc(r.learners, func(s *store) bool { return w.leaves(s) && w.t >= s.stays && s.moved < perTick })
		to := w.learnerTaker(r)
		switch {
		case to == nil:
		case len(r.learners) < w.asks:
			r.learners = append(r.learners, to)
			to.regions++
			to.moved++
		case at >= 0:
			from := r.learners[at]
			r.learners[at] = to
			from.regions--
			from.moved++
			to.regions++
		}
	}
}

// learnerTaker returns the TiFlash store for another replica of a region, nil if there is none.
func (w *Model) learnerTaker(r *region) *store {
	var best *store
	for _, s := range w.stores {
		if s.k.learns() && s.state == state.StoreUp && s.runs && w.t-s.heartbeat <= disconnected &&
			s.moved < 2*perTick && !slices.Contains(r.learners, s) && !w.full(s) && (best == nil || s.regions < best.regions) {
			best = s
		}
	}
	return best
}

// leastNeeded returns the store of a replica that PD takes away first: one that leaves.
func (w *Model) leastNeeded(r *region) *store {
	if at := slices.IndexFunc(r.learners, w.leaves); at >= 0 {
		return r.learners[at]
	}
	return r.learners[len(r.learners)-1]
}

// tooMany reports whether a store has replicas that tables do not ask for any more. PD takes such
// replicas away whether the store's process runs or not, if the replicas in TiKV run.
func (w *Model) tooMany(s *store) bool {
	return slices.ContainsFunc(w.regions[:min(tables, len(w.regions))], func(r region) bool {
		return r.quorum() && len(r.learners) > w.asks && slices.Contains(r.learners, s)
	})
}

func (w *Model) forgetLearner(r *region, s *store) {
	if at := slices.Index(r.learners, s); at >= 0 {
		r.learners = slices.Delete(r.learners, at, at+1)
		s.regions--
	}
}

// judgeLearners checks that a TiFlash store that serves is taken offline only if the other stores
// have room. They need room for all replicas that tables ask for.
func (w *Model) judgeLearners(victim int, say sayer) {
	if s := w.storeOf(tiflash, victim); s == nil || !w.served(tiflash, victim) || s.state != state.StoreUp {
		return
	}
	others := 0
	for i := range limit {
		if i != victim && (w.open(tiflash, i) || w.seen.open[tiflash][i]) {
			others++
		}
	}
	if others < min(w.asks, w.seen.asks) {
		say("places", "%d other TiFlash stores for tables with %d replicas", others, w.asks)
	}
}

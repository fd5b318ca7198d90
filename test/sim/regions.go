package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// region is a part of the data, with a replica on each of some stores, one of which
// leads. It can be read and written while most of its replicas run.
type region struct {
	replicas []*store
	leader   *store
	learners []*store // its replicas in TiFlash, which vote for nothing and lead nothing
}

const (
	regions  = 24 // of the simulated cluster
	crowd    = 50 // how many of a real one each of them stands for
	perTick  = 2  // replicas or leaders that PD moves off a store in a second
	failover = 10 // seconds after which followers of a leader that is gone elect another
)

// storeUp reports whether the process of a store answers its peers.
func (w *Model) storeUp(s *store) bool {
	return w.storeRuns(s) && (s.elsewhere() || s.announced >= w.pods[s.k][s.ordinal].started)
}

// tickRegions elects leaders, which needs no PD, and has PD move leaders and replicas.
func (w *Model) tickRegions() {
	if len(w.stores) == 0 || !w.unsettled() {
		return
	}
	w.electLeaders()
	if !w.serving() || w.t < w.pd.idle {
		return
	}
	w.evictLeadersOff()
	w.repairRegions()
	w.moveLearners()
	w.spreadReplicas()
	w.spreadLeaders()
}

// unsettled reports whether anything may move: it costs less than to look at all
// regions in each second.
func (w *Model) unsettled() bool {
	least, most, few, many := regions, 0, regions, 0
	for _, s := range w.stores {
		if s.state == state.StoreTombstone {
			continue
		}
		if !s.k.leads() {
			if s.state != state.StoreUp || !s.runs || w.t-s.heartbeat > downAfter || w.learnersMissing() {
				return true
			}
			continue
		}
		evicts := w.evicts[s.id] != nil
		if s.state != state.StoreUp || !s.runs || evicts && s.leaders > 0 || w.t-s.heartbeat > downAfter {
			return true
		}
		few, many = min(few, s.regions), max(many, s.regions)
		if !evicts {
			least, most = min(least, s.leaders), max(most, s.leaders)
		}
	}
	return most > least+1 || many > few+1 || w.short
}

// electLeaders elects a leader for each region that has lost its leader, if most of its replicas
// run.
func (w *Model) electLeaders() {
	for i := range w.regions {
		r := &w.regions[i]
		if l := r.leader; l != nil && (l.runs || w.t-l.deadAt <= failover) || !r.quorum() {
			continue
		}
		if s := w.leastLeaders(r, r.leader); s != nil {
			w.lead(r, s)
		}
	}
}

// quorum reports whether most replicas run.
func (r *region) quorum() bool {
	n := 0
	for _, s := range r.replicas {
		if s.runs {
			n++
		}
	}
	return n >= len(r.replicas)/2+1
}

// leastLeaders returns the store that leads a region next, nil if there is none. Of the stores that run it is the store
// with the fewest leaders, preferably a store from which no leaders are evicted.
func (w *Model) leastLeaders(r *region, except *store) *store {
	var best *store
	for _, s := range r.replicas {
		if s == except || !s.runs {
			continue
		}
		if best == nil || w.barred(best) && !w.barred(s) || w.barred(best) == w.barred(s) && s.leaders < best.leaders {
			best = s
		}
	}
	return best
}

// barred reports whether leaders are to leave a store.
func (w *Model) barred(s *store) bool { return w.evicts[s.id] != nil || s.state != state.StoreUp }

func (w *Model) lead(r *region, s *store) {
	if r.leader != nil {
		r.leader.leaders--
	}
	r.leader = s
	s.leaders++
}

// evictLeadersOff moves leaders off stores with an evict-leader scheduler.
func (w *Model) evictLeadersOff() {
	for _, s := range w.stores {
		if !w.barred(s) || !s.runs {
			continue
		}
		n := 0
		for i := range w.regions {
			r := &w.regions[i]
			if r.leader != s || w.leadersStay(i) {
				continue
			}
			if to := w.leastLeaders(r, s); to != nil && !w.barred(to) {
				w.lead(r, to)
				if n++; n == w.movesPerTick() {
					break
				}
			}
		}
	}
}

// repairRegions replaces replicas on stores that leave or that PD calls Down, and adds
// those that are missing.
func (w *Model) repairRegions() {
	for _, s := range w.stores {
		s.moved = 0
	}
	w.short = false
	for i := range w.regions {
		r := &w.regions[i]
		if !r.quorum() {
			continue
		}
		for j, s := range r.replicas {
			if (w.leaves(s) || w.misplaced(r, s)) && s.moved < perTick && w.t >= s.stays && !w.replicasStay(s) {
				if to := w.taker(r, s); to != nil {
					s.moved++
					w.replace(r, j, to)
					break
				}
			}
		}
		if stalled := w.stalled(); stalled.Halted || stalled.NoReplicas {
			continue
		}
		if len(r.replicas) < w.MaxCopy {
			w.short = true
			if to := w.taker(r, nil); to != nil && to.moved < 2*perTick {
				to.moved++
				w.place(r, to)
			}
		}
	}
}

// misplaced reports whether a replica is in a zone with another one, although PD is to keep replicas in different zones.
func (w *Model) misplaced(r *region, s *store) bool {
	return w.rules.isolated && w.Concurrency.Batches() && !w.apart(r, s, s)
}

// leaves reports whether PD takes replicas off a store.
func (w *Model) leaves(s *store) bool {
	return s.state == state.StoreOffline || s.state == state.StoreUp && w.t-s.heartbeat > downAfter
}

// taker returns the store for another replica of a region, in place of one of its stores. It is the
// store with the fewest replicas, if possible in a zone without another replica; nil if there is
// none.
func (w *Model) taker(r *region, instead *store) *store {
	var best *store
	bestApart := false
	for _, s := range w.stores {
		if !s.k.leads() || s.state != state.StoreUp || !s.runs || w.t-s.heartbeat > disconnected || slices.Contains(r.replicas, s) || w.full(s) {
			continue
		}
		apart := w.apart(r, s, instead)
		if !apart && w.rules.isolated || !w.fits(r, s, instead) {
			continue
		}
		if best == nil || apart && !bestApart || apart == bestApart && s.regions < best.regions {
			best, bestApart = s, apart
		}
	}
	return best
}

// apart reports whether no other replica of a region is in a store's zone.
func (w *Model) apart(r *region, s, instead *store) bool {
	for _, o := range r.replicas {
		if o != instead && w.zone(o.ordinal) == w.zone(s.ordinal) {
			return false
		}
	}
	return true
}

// zone returns the zone in which the pods of an ordinal run.
func (w *Model) zone(i int) int {
	if len(w.Zones) == 0 {
		return i
	}
	return w.Zones[i%len(w.Zones)]
}

func (w *Model) place(r *region, s *store) {
	r.replicas = append(r.replicas, s)
	s.regions++
	if r.leader == nil {
		w.lead(r, s)
	}
}

// replace moves a replica to another store. A leader hands over first.
func (w *Model) replace(r *region, j int, to *store) {
	from := r.replicas[j]
	r.replicas[j] = to
	from.regions--
	to.regions++
	if r.leader == from {
		next := w.leastLeaders(r, from)
		w.lead(r, next)
	}
}

// extremes returns the stores with the least and the most of something, of those that count. They are nil if no store
// counts.
func (w *Model) extremes(of func(*store) (int, bool)) (least, most *store) {
	var low, high int
	for _, s := range w.stores {
		n, counts := of(s)
		if !counts || !s.k.leads() {
			continue
		}
		if least == nil || n < low {
			least, low = s, n
		}
		if most == nil || n > high {
			most, high = s, n
		}
	}
	return least, most
}

// spreadReplicas moves one replica to the store with the least that may have one, from the store with the most that can
// give one. A store may have none that the rules of placement let go, for example in another zone. Then PD tries the
// next store.
func (w *Model) spreadReplicas() {
	if s := w.stalled(); s.Halted || s.NoBalance || w.t < w.pd.held {
		return
	}
	var all []*store // the one with the fewest replicas first
	for _, s := range w.stores {
		if s.k.leads() && s.state == state.StoreUp && s.runs && !w.leaves(s) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *store) int { return a.regions - b.regions })
	for _, to := range all {
		for _, from := range slices.Backward(all) {
			if !w.full(to) && from.regions > to.regions+1 && w.moveReplica(from, to) {
				return
			}
		}
	}
}

// moveReplica moves a replica between two stores, and reports whether the rules of placement let one go.
func (w *Model) moveReplica(from, to *store) bool {
	for i := range w.regions {
		r := &w.regions[i]
		j := slices.Index(r.replicas, from)
		if j >= 0 && r.quorum() && !slices.Contains(r.replicas, to) && w.fits(r, to, from) && (w.apart(r, to, from) || !w.apart(r, from, from)) {
			w.replace(r, j, to)
			return true
		}
	}
	return false
}

// spreadLeaders moves one leader from the store with the most to that with the least.
func (w *Model) spreadLeaders() {
	if s := w.stalled(); s.Halted || s.NoLeaders {
		return
	}
	least, most := w.extremes(func(s *store) (int, bool) { return s.leaders, s.runs && !w.barred(s) })
	if least == nil || most.leaders <= least.leaders+1 {
		return
	}
	for i := range w.regions {
		if r := &w.regions[i]; r.leader == most && slices.Contains(r.replicas, least) {
			w.lead(r, least)
			return
		}
	}
}

// firstRegions puts all regions onto the first store.
func (w *Model) firstRegions(s *store) {
	w.regions = make([]region, regions)
	for i := range w.regions {
		w.regions[i].replicas = make([]*store, 0, w.MaxCopy)
		w.place(&w.regions[i], s)
	}
}

// wipe removes a store from all regions, as if PD had replaced its replicas.
func (w *Model) wipe(s *store) {
	for i := range w.regions {
		r := &w.regions[i]
		w.forgetLearner(r, s)
		j := slices.Index(r.replicas, s)
		if j < 0 {
			continue
		}
		if to := w.taker(r, s); to != nil {
			w.replace(r, j, to)
			continue
		}
		r.replicas = slices.Delete(r.replicas, j, j+1)
		s.regions--
		if r.leader == s {
			s.leaders--
			r.leader = nil
			if to := w.leastLeaders(r, s); to != nil {
				w.lead(r, to)
			}
		}
	}
	w.short = true
}

// movable counts leaders of a store that could lead elsewhere.
func (w *Model) movable(s *store) int {
	n := 0
	for i := range w.regions {
		if r := &w.regions[i]; r.leader == s {
			if to := w.leastLeaders(r, s); to != nil && to.state == state.StoreUp {
				n++
			}
		}
	}
	return n
}

// judgeRegions checks that no step takes the quorum of a region that had it. A store counts as
// running if all reports said so when the engine observed.
func (w *Model) judgeRegions(i int, say sayer) {
	s := w.ownStore(i)
	if s == nil || !w.served(tikv, i) {
		return
	}
	lost := 0
	for n := range w.regions {
		r := &w.regions[n]
		if len(r.replicas) < 3 || !slices.Contains(r.replicas, s) {
			continue // of two replicas both are a quorum
		}
		left := 0
		for _, o := range r.replicas {
			if o != s && (o.runs || w.seen.running(o)) {
				left++
			}
		}
		if quorum := len(r.replicas)/2 + 1; left == quorum-1 {
			lost++
		}
	}
	if lost > 0 {
		say("region-quorum", "%d regions lose it with %s", lost, w.names[tikv][i])
	}
}

// running reports whether a store ran at that moment, or all reports said so.
func (s *sighting) running(o *store) bool {
	if o.elsewhere() {
		return s.elsewhere[o.id]
	}
	return s.owner[o.ordinal] == o.id && (s.serves[o.k][o.ordinal] || s.inSight[o.k][o.ordinal])
}

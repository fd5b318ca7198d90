package sim

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// lowSpaceRatio is the default of PD's schedule.low-space-ratio.
const lowSpaceRatio = 0.8

// drawRoom has disks of stores fill up, in one run of six. That is drawn separately, so that the other runs stay as they
// are.
func drawRoom(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 61))
	if rng.IntN(6) == 0 {
		o.Faults.Fill = pick(rng, 1./300, 1./100)
	}
}

// room returns the size of a store's disk, and what is free of it. Both are 0 where no disk fills up, and for stores
// elsewhere.
func (w *Model) room(s *store) (capacity, available topology.Size) {
	if w.Faults.Fill == 0 || s.elsewhere() {
		return 0, 0
	}
	c := w.claims[s.k][s.ordinal]
	if c == nil || c.data != s.id {
		return 0, 0
	}
	capacity = topology.Size(c.capacity) * gi
	return capacity, max(capacity-s.used, 0)
}

// asState returns a store as PD lists it.
func (w *Model) asState(s *store) state.Store {
	out := state.Store{ID: s.id, State: w.shownState(s), Regions: s.regions * crowd}
	out.Capacity, out.Available = w.room(s)
	return out
}

// full reports whether PD puts no regions onto a store because its disk is nearly full. The rule of PD is written again
// here, because a model that shares the engine's rule does not find a fault in the rule.
func (w *Model) full(s *store) bool {
	capacity, available := w.room(s)
	few := s.regions*crowd < 30 && available > 8*gi
	return s.used > 0 && capacity > 0 && !few && float64(capacity-available) > lowSpaceRatio*float64(capacity)
}

// fillDisks has the disks of some stores fill up. While a store leaves, these are often all others.
func (w *Model) fillDisks() {
	leaving := slices.ContainsFunc(w.stores, func(s *store) bool { return s.state == state.StoreOffline })
	all := w.rng.IntN(6) == 0 || leaving && w.rng.IntN(2) == 0
	var some []*store
	for _, s := range w.stores {
		if capacity, _ := w.room(s); capacity > 0 && s.state == state.StoreUp {
			some = append(some, s)
		}
	}
	if len(some) == 0 {
		return
	}
	one := some[w.rng.IntN(len(some))]
	for _, s := range some {
		if s != one && !all {
			continue
		}
		capacity, _ := w.room(s)
		s.used = capacity * topology.Size(82+w.rng.IntN(12)) / 100
		w.note("fault: the disk of store %d is nearly full", s.id)
	}
	if w.rng.IntN(3) == 0 {
		w.shrinkAt = w.t + w.between(60, 3000)
	}
}

// shrinkData is the end of data that users have deleted.
func (w *Model) shrinkData() {
	if w.shrinkAt != 0 && w.t >= w.shrinkAt {
		w.shrinkAt = 0
		for _, s := range w.stores {
			s.used = 0
		}
	}
}

// addRoom is a person who makes volumes larger, as a gate asks because disks are nearly full. Where leaders have no other
// copy of their region to go to, the person has read in doctor that disks are nearly full. Where the volumes have that
// size already and do not grow, the person calls the scale-in off.
func (w *Model) addRoom(g plan.Gate) {
	says := strings.Contains(g.Observed, "nearly full") || g.Blocked && g.Reason == plan.LeadersEvicted
	if w.Faults.Fill == 0 || !says || w.chaos && w.rng.IntN(4) > 0 {
		return
	}
	for _, k := range storeKinds {
		size := w.Intent.Size[k]
		for _, s := range w.stores {
			if s.k == k && w.full(s) {
				size = max(size, int(s.used*4/3/gi)+1)
			}
		}
		switch {
		case size > w.Intent.Size[k]:
			w.Resize(kinds[k], size)
		case g.Blocked && g.Component == kinds[k] && strings.Contains(g.Remedy.Line(""), "to call it off") && w.Intent.members(k).end() < limit-2:
			w.Scale(kinds[k], w.Intent.Replicas[k]+1) // volumes of this class do not grow
		}
	}
}

// askForStore asks for one more store, as a gate says where PD cannot move regions to any other store. People have taken the
// other stores offline.
func (w *Model) askForStore(g plan.Gate) {
	if w.chaos || !g.Blocked || g.Component.Data() != topology.Store || !strings.Contains(g.Remedy.Line(""), "ask for more replicas") {
		return
	}
	if k := kindOf(g.Component); w.Intent.members(k).end() < limit-2 {
		w.Scale(g.Component, w.Intent.Replicas[k]+1)
	}
}

// storesThat returns the stores of which something is true.
func (w *Model) storesThat(are func(*store) bool) map[uint64]bool {
	all := map[uint64]bool{}
	for _, s := range w.stores {
		if are(s) {
			all[s.id] = true
		}
	}
	return all
}

// isUp reports whether PD keeps a store, whether its process runs or not.
func (s *store) isUp() bool { return s.state == state.StoreUp }

// mayStay reports whether PD keeps a store, as far as an engine can know: now, or when the engine looked.
func (w *Model) mayStay(s *store) bool { return s.isUp() || w.seen.up[s.id] }

// judgeRoom checks that a store that serves is taken offline only if PD may put its regions onto some other store. A
// store that had room when the engine looked, and has left PD since, may take them as far as an engine can know.
func (w *Model) judgeRoom(k kind, victim int, say sayer) {
	v := w.storeOf(k, victim)
	if v == nil || !w.served(k, victim) || v.state != state.StoreUp || v.regions == 0 {
		return
	}
	others := 0
	for _, s := range w.stores {
		if s == v || s.k.leads() != k.leads() {
			continue
		}
		if s.isUp() && !w.full(s) || w.seen.up[s.id] && !w.seen.full[s.id] {
			return
		}
		if s.isUp() {
			others++
		}
	}
	if others > 0 {
		say("room", "the disks of all other stores are nearly full")
	}
}

package component_test

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"

// moveLeaders is what PD does in a second. Each region has one copy in each zone, so leaders move between zones only.
func (w *manyStores) moveLeaders() {
	left := w.moves
	var evicting []*state.Member
	for i := range w.all {
		if m := &w.all[i]; m.Up() && m.Database.Evicting {
			evicting = append(evicting, m)
		}
	}
	for moved := true; moved && left > 0; { // one leader of each store in turn
		moved = false
		for _, m := range evicting {
			if left > 0 && m.Database.Leaders > 0 && w.take(m) {
				moved, left = true, left-1
			}
		}
	}
	for left > 0 && w.balance() {
		left--
	}
	w.changed = w.changed || left < w.moves
}

// take moves a leader to the next store that may take it. PD picks such a store at random, which is even in the end.
func (w *manyStores) take(from *state.Member) bool {
	for range w.all {
		w.taker = (w.taker + 1) % len(w.all)
		if to := &w.all[w.taker]; to.TakesLeaders() && w.taker%manyZones != from.Ordinal%manyZones {
			from.Database.Leaders--
			to.Database.Leaders++
			return true
		}
	}
	return false
}

// balance moves a leader from a store with many to one with few, in another zone.
func (w *manyStores) balance() bool {
	var most, least [manyZones]*state.Member
	for i := range w.all {
		m, zone := &w.all[i], i%manyZones
		if !m.TakesLeaders() {
			continue
		}
		if most[zone] == nil || m.Database.Leaders > most[zone].Database.Leaders {
			most[zone] = m
		}
		if least[zone] == nil || m.Database.Leaders < least[zone].Database.Leaders {
			least[zone] = m
		}
	}
	var from, to *state.Member
	for a, high := range most {
		for b, low := range least {
			if a == b || high == nil || low == nil || high.Database.Leaders-low.Database.Leaders < 2 {
				continue
			}
			if from == nil || high.Database.Leaders-low.Database.Leaders > from.Database.Leaders-to.Database.Leaders {
				from, to = high, low
			}
		}
	}
	if from == nil {
		return false
	}
	from.Database.Leaders--
	to.Database.Leaders++
	return true
}

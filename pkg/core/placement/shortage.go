// Package placement reports whether PD can still keep its placement rules without a
// store.
//
// PD moves a region away from a store that is Offline only to a store that the region's rule
// matches. That store has no other copy of the region. Where the rule has an isolation level, the
// store is in a place where the rule has no other copy. When there is none, the store stays Offline
// for ever. PD itself checks only max-replicas before it takes a store offline.
//
// It is pure. It says no only where it is certain that PD can never finish.
package placement

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Shortage lists the rules that PD could not keep without a store.
type Shortage struct {
	// Rules are the rules that lack a copy. If there are several, they share the
	// same stores.
	Rules []state.PlacementRule
	// Stores is how many stores match them without the one that leaves.
	Stores int
	// Places are the places of these stores, for one rule with an isolation level.
	Places []string
}

// Short reports whether the removal of a store reduces how many copies of some region can be
// placed. Then PD has put a copy of that region on the store that leaves, and has no other place
// for it. Rules that too few stores match in either case are no reason: the removal changes nothing
// for them.
func Short(sets [][]state.PlacementRule, stay []state.Store, leaves state.Store) (Shortage, bool) {
	all := append(slices.Clone(stay), leaves)
	for _, set := range sets {
		set = concerned(set, all, leaves)
		left := newNetwork(set, stay)
		if left.fill() < newNetwork(set, all).fill() {
			return shortage(set, left.short(), stay), true
		}
	}
	return Shortage{}, false
}

// concerned returns the rules that match a store, and those that share stores with
// them.
func concerned(set []state.PlacementRule, stores []state.Store, leaves state.Store) []state.PlacementRule {
	with, reached := make([]bool, len(set)), []state.Store{leaves}
	for len(reached) > 0 {
		s := reached[0]
		reached = reached[1:]
		for i, r := range set {
			if with[i] || !Matches(r, s) {
				continue
			}
			with[i] = true
			for _, o := range stores {
				if Matches(r, o) {
					reached = append(reached, o)
				}
			}
		}
	}
	var rules []state.PlacementRule
	for i, r := range set {
		if with[i] {
			rules = append(rules, r)
		}
	}
	return rules
}

func shortage(set []state.PlacementRule, short []bool, stay []state.Store) Shortage {
	var found Shortage
	for i, r := range set {
		if short[i] {
			found.Rules = append(found.Rules, r)
		}
	}
	for _, s := range stay {
		if !slices.ContainsFunc(found.Rules, func(r state.PlacementRule) bool { return Matches(r, s) }) {
			continue
		}
		found.Stores++
		if len(found.Rules) > 1 || !isolates(found.Rules[0]) {
			continue
		}
		if where := place(found.Rules[0], s); !slices.Contains(found.Places, where) {
			found.Places = append(found.Places, where)
		}
	}
	slices.Sort(found.Places)
	return found
}

// isolated reports whether there are too few places, and not too few stores.
func (s Shortage) isolated() bool { return len(s.Places) > 0 }

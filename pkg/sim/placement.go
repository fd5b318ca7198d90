package sim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// rules is what PD's placement rules ask for. Its zero value asks for nothing but
// max-replicas.
type rules struct {
	isolated bool  // no two copies of a region are in one zone
	copies   []int // how many are on stores of each tier; nil: on any
}

// tier is a label of the store of an ordinal.
func (w *Model) tier(i int) int {
	if len(w.Tiers) == 0 {
		return 0
	}
	return w.Tiers[i%len(w.Tiers)]
}

// fits reports whether the rules allow a store to hold another replica of a region, in place of one
// of its stores.
func (w *Model) fits(r *region, s, instead *store) bool {
	if len(w.rules.copies) == 0 {
		return true
	}
	tier, n := w.tier(s.ordinal), 0
	for _, o := range r.replicas {
		if o != instead && w.tier(o.ordinal) == tier {
			n++
		}
	}
	return n < w.rules.copies[tier]
}

// labels of stores, by zone and by tier.
const zoneLabel, tierLabel = "zone", "tier"

func labelsOf(zone, tier int) map[string]string {
	return map[string]string{zoneLabel: strconv.Itoa(zone), tierLabel: strconv.Itoa(tier)}
}

// placed returns PD's rules and stores where a store is leaving PD or will leave. At other times
// the engine does not read them.
func (w *Model) placed() state.Placement {
	if !w.rules.isolated && w.rules.copies == nil || !w.removes() {
		return state.Placement{}
	}
	var out state.Placement
	for _, s := range w.stores {
		if s.state != state.StoreTombstone {
			out.Stores = append(out.Stores, state.Store{ID: s.id, State: w.shownState(s), Labels: labelsOf(w.zone(s.ordinal), w.tier(s.ordinal))})
		}
	}
	if w.chance(w.Faults.NoAnswer) {
		out.Unread = "PD does not answer"
		return out
	}
	out.Rules = [][]state.PlacementRule{w.rules.asPD(w.MaxCopy)}
	return out
}

// asPD returns the rules in the form in which PD returns them.
func (r rules) asPD(copies int) []state.PlacementRule {
	if r.isolated {
		return []state.PlacementRule{{
			Group: "pd", ID: "default", Role: "voter", Count: copies, LocationLabels: []string{zoneLabel}, IsolationLevel: zoneLabel, Configured: true,
		}}
	}
	var all []state.PlacementRule
	for tier, n := range r.copies {
		name := strconv.Itoa(tier)
		all = append(all, state.PlacementRule{
			Group: "pd", ID: "tier-" + name, Role: "voter", Count: n,
			Constraints: []state.LabelConstraint{{Key: tierLabel, Op: "in", Values: []string{name}}},
		})
	}
	return all
}

// removes reports whether a store is leaving PD, or will leave.
func (w *Model) removes() bool {
	want := topology.Group{Kind: topology.TiKV, Replicas: w.Intent.Replicas[tikv], Failures: w.failures[tikv], MaxFailures: maxFailures, Recover: w.Intent.Recover}
	size := want.Size()
	return slices.ContainsFunc(w.failures[tikv], func(f topology.Failure) bool { return f.Discarded && !f.Deleted }) ||
		slices.ContainsFunc(w.claims[tikv][:], func(c *claim) bool { return c != nil && c.goneAt != never }) ||
		slices.ContainsFunc(w.stores, func(s *store) bool {
			return s.state == state.StoreOffline || s.state == state.StoreUp && s.ordinal >= size
		})
}

// open reports whether PD puts regions onto the store of an ordinal, or will when it is
// back.
func (w *Model) open(i int) bool {
	s := w.ownStore(i)
	return s != nil && s.state == state.StoreUp && w.shownState(s) != state.StoreDown
}

// judgePlaces: a store that serves is taken offline only if the rules leave its regions
// a place on others.
func (w *Model) judgePlaces(victim int, say sayer) {
	if s := w.ownStore(victim); !w.served(tikv, victim) || s.state != state.StoreUp {
		return
	}
	var zones []int
	peers := 0
	for i := range limit {
		if i == victim || !w.open(i) && !w.seen.open[i] {
			continue
		}
		if z := w.zone(i); !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
		if w.tier(i) == w.tier(victim) {
			peers++
		}
	}
	if w.rules.isolated && len(zones) < w.MaxCopy && !slices.Contains(zones, w.zone(victim)) {
		say("places", "without %s there are only zones %v", w.names[tikv][victim], zones)
	}
	if c := w.rules.copies; c != nil && peers < c[w.tier(victim)] {
		say("places", "without %s there are only %d stores of its tier", w.names[tikv][victim], peers)
	}
}

// relaxRules is a person who reads that the placement rules leave no place, and makes them less
// strict.
func (w *Model) relaxRules(g plan.Gate) {
	help := g.Remedy.Line("")
	helps := strings.Contains(help, "isolation-level ''") || strings.Contains(help, "config placement-rules save")
	if g.Blocked && helps && (!w.chaos || w.rng.IntN(4) == 0) {
		w.note("user: PD's placement rules ask for less now")
		w.rules, w.short = rules{}, true
	}
}

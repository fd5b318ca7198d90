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

// fits reports whether the rules allow a store to hold another replica of a region. The replica
// takes the place of one of the region's stores.
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
	switch {
	case w.Concurrency.Batches():
	case !w.removes():
		return state.Placement{Unread: "they are read where a store is to be removed"}
	case !w.rules.isolated && w.rules.copies == nil && w.TiFlash == 0 && w.Faults.Fill == 0:
		return state.Placement{} // max-replicas alone is checked
	}
	var out state.Placement
	for _, s := range w.stores {
		if s.state != state.StoreTombstone {
			labels := labelsOf(w.zone(s.ordinal), w.tier(s.ordinal))
			if s.k.learns() {
				labels["engine"] = "tiflash"
			}
			as := w.asState(s)
			as.Labels = labels
			out.Stores = append(out.Stores, as)
		}
	}
	if w.chance(w.Faults.NoAnswer) {
		out.Unread = "PD does not answer"
		return out
	}
	own := w.rules.asPD(w.MaxCopy)
	out.Rules = [][]state.PlacementRule{own}
	if learners := w.learnerRules(); learners != nil && !w.flash.off {
		out.Rules = append(out.Rules, append(slices.Clone(own), learners...))
	}
	return out
}

// learnerRules are the rules of tables that ask for replicas in TiFlash.
func (w *Model) learnerRules() []state.PlacementRule {
	if w.asks == 0 {
		return nil
	}
	return []state.PlacementRule{{
		Group: "tiflash", ID: "table-1-r", Role: "learner", Count: w.asks, Tables: []state.Table{{ID: 1, Name: "a.b"}},
		Constraints: []state.LabelConstraint{{Key: "engine", Op: "in", Values: []string{"tiflash"}}},
	}}
}

// asPD returns the rules in the form in which PD returns them.
func (r rules) asPD(copies int) []state.PlacementRule {
	if r.isolated {
		return []state.PlacementRule{{
			Group: "pd", ID: "default", Role: "voter", Count: copies, LocationLabels: []string{zoneLabel}, IsolationLevel: zoneLabel, Configured: true,
		}}
	}
	if len(r.copies) == 0 {
		return []state.PlacementRule{{Group: "pd", ID: "default", Role: "voter", Count: copies, Configured: true}}
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
	return slices.ContainsFunc(storeKinds[:], w.removesOf)
}

func (w *Model) removesOf(k kind) bool {
	size := members{w.group(k).Size() + w.spareOf(k), w.Intent.Slots[k]}
	return slices.ContainsFunc(w.failures[k], func(f topology.Failure) bool { return f.Discarded && !f.Deleted }) ||
		slices.ContainsFunc(w.claims[k][:], func(c *claim) bool { return c != nil && c.goneAt != never }) ||
		w.replacesAny(k) ||
		slices.ContainsFunc(w.stores, func(s *store) bool {
			return s.k == k && !s.elsewhere() && (s.state == state.StoreOffline || s.state == state.StoreUp && !size.has(s.ordinal))
		})
}

// open reports whether PD puts regions onto the store of an ordinal, or will when it is
// back.
func (w *Model) open(k kind, i int) bool {
	s := w.storeOf(k, i)
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
		if i == victim || !w.open(tikv, i) && !w.seen.open[tikv][i] {
			continue
		}
		if z := w.zone(i); !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
		if w.tier(i) == w.tier(victim) {
			peers++
		}
	}
	for _, o := range w.stores { // PD places regions on stores elsewhere as well
		if z := w.zone(o.ordinal); o.elsewhere() && w.mayStay(o) && !slices.Contains(zones, z) {
			zones = append(zones, z)
		}
	}
	if w.rules.isolated && len(zones) < w.MaxCopy && !slices.Contains(zones, w.zone(victim)) {
		say("places", "without %s there are only zones %v", w.names[tikv][victim], zones)
	}
	if c := w.rules.copies; c != nil && peers < c[w.tier(victim)] {
		say("places", "without %s there are only %d stores of its tier", w.names[tikv][victim], peers)
	}
}

// relaxTables is a person who has tables ask for fewer replicas. The person reads that they ask for
// more replicas than TiFlash will have stores.
func (w *Model) relaxTables(g plan.Gate) {
	if g.Blocked && strings.Contains(g.Remedy.Line(""), "SET TIFLASH REPLICA") && (!w.chaos || w.rng.IntN(4) == 0) {
		w.askTables(min(w.asks, w.Intent.Replicas[tiflash]))
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

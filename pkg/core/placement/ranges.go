package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Rule is a placement rule with its range of keys, and its rank among other rules.
type Rule struct {
	state.PlacementRule
	// Start and End are the range. An empty End is the end of all keys.
	Start, End string
	// GroupIndex and Index order the rules. A rule with Override disables all earlier rules of its
	// group, and a rule with GroupOverride all earlier groups.
	GroupIndex, Index       int
	GroupOverride, Override bool
}

// ByRange lists the sets of rules that are in force for some range of keys, each
// different set once. PD keeps a boundary between regions wherever a rule begins or
// ends, so there is a region for each set.
func ByRange(rules []Rule) [][]state.PlacementRule {
	rules = slices.SortedFunc(slices.Values(rules), byRank)
	type change struct {
		key string
		at  int // of the rule
		end bool
	}
	var changes []change
	for i, r := range rules {
		changes = append(changes, change{key: r.Start, at: i})
		if r.End != "" {
			changes = append(changes, change{key: r.End, at: i, end: true})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Compare(a.key, b.key) })
	var sets [][]state.PlacementRule
	known, inForce := map[string]int{}, []int{}
	for i, c := range changes {
		at, _ := slices.BinarySearch(inForce, c.at)
		if c.end {
			inForce = slices.Delete(inForce, at, at+1)
		} else {
			inForce = slices.Insert(inForce, at, c.at)
		}
		if i+1 < len(changes) && changes[i+1].key == c.key {
			continue
		}
		set := applied(rules, inForce)
		key := content(set)
		at, ok := known[key]
		switch {
		case len(set) == 0:
		case ok:
			addTables(sets[at], set)
		default:
			known[key] = len(sets)
			sets = append(sets, set)
		}
	}
	return sets
}

// addTables adds the tables of rules to rules that ask for the same.
func addTables(to, from []state.PlacementRule) {
	for i := range to {
		for _, t := range from[i].Tables {
			if !slices.Contains(to[i].Tables, t) {
				to[i].Tables = append(slices.Clip(to[i].Tables), t)
			}
		}
	}
}

// byRank compares rules in PD's order.
func byRank(a, b Rule) int {
	return cmp.Or(
		cmp.Compare(a.GroupIndex, b.GroupIndex), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Index, b.Index), cmp.Compare(a.ID, b.ID))
}

// applied returns the rules of one range that are in force. A rule may override earlier rules of
// its group, and a group may override earlier groups.
func applied(rules []Rule, inForce []int) []state.PlacementRule {
	var set, group []state.PlacementRule
	for i, at := range inForce {
		r := rules[at]
		if i == 0 || r.Group != rules[inForce[i-1]].Group {
			if set, group = append(set, group...), nil; r.GroupOverride {
				set = nil
			}
		}
		if r.Override {
			group = nil
		}
		if r.Count > 0 {
			group = append(group, r.PlacementRule)
		}
	}
	return append(set, group...)
}

// content returns what a set of rules asks for. It leaves out the names of the rules, because TiDB
// makes a rule for each table of a placement policy.
func content(set []state.PlacementRule) string {
	var b strings.Builder
	for _, r := range set {
		fmt.Fprintf(&b, "%q %d %q %q %q;", r.Role, r.Count, r.Constraints, r.LocationLabels, r.IsolationLevel)
	}
	return b.String()
}

package placement_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// ranged is a rule for a range of keys.
func ranged(group, id, start, end string, count int, change ...func(*placement.Rule)) placement.Rule {
	r := placement.Rule{PlacementRule: state.PlacementRule{Group: group, ID: id, Count: count}, Start: start, End: end}
	for _, f := range change {
		f(&r)
	}
	return r
}

// TestByRange: which rules ask for copies of the same regions.
func TestByRange(t *testing.T) {
	overrides := func(r *placement.Rule) { r.Override = true }
	groupOverrides := func(r *placement.Rule) { r.GroupOverride = true }
	index := func(n int) func(*placement.Rule) { return func(r *placement.Rule) { r.Index = n } }
	groupIndex := func(n int) func(*placement.Rule) { return func(r *placement.Rule) { r.GroupIndex = n } }
	for name, c := range map[string]struct {
		rules []placement.Rule
		want  []string
	}{
		"none":                      {nil, nil},
		"one":                       {[]placement.Rule{ranged("pd", "default", "", "", 3)}, []string{"pd/default"}},
		"two for all keys":          {[]placement.Rule{ranged("pd", "b", "", "", 3), ranged("pd", "a", "", "", 1)}, []string{"pd/a pd/b"}},
		"one for a range in it":     {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("pd", "b", "k", "m", 1)}, []string{"pd/a", "pd/a pd/b"}},
		"one up to the end":         {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("pd", "b", "k", "", 1)}, []string{"pd/a", "pd/a pd/b"}},
		"only for a range":          {[]placement.Rule{ranged("pd", "a", "k", "m", 3)}, []string{"pd/a"}},
		"ranges side by side":       {[]placement.Rule{ranged("pd", "a", "", "k", 3), ranged("pd", "b", "k", "", 1)}, []string{"pd/a", "pd/b"}},
		"ranges that overlap":       {[]placement.Rule{ranged("pd", "a", "", "m", 3), ranged("pd", "b", "k", "", 1)}, []string{"pd/a", "pd/a pd/b", "pd/b"}},
		"the same for many tables":  {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("t1", "x", "k", "l", 1), ranged("t2", "x", "m", "n", 1)}, []string{"pd/a", "pd/a t1/x"}},
		"a rule overrides":          {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("pd", "b", "", "", 1, overrides)}, []string{"pd/b"}},
		"a rule overrides, by rank": {[]placement.Rule{ranged("pd", "a", "", "", 3, index(2)), ranged("pd", "b", "", "", 1, overrides)}, []string{"pd/b pd/a"}},
		"only in its group":         {[]placement.Rule{ranged("a", "a", "", "", 3), ranged("pd", "b", "", "", 1, overrides)}, []string{"a/a pd/b"}},
		"only in its range":         {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("pd", "b", "k", "l", 1, overrides)}, []string{"pd/a", "pd/b"}},
		"a group overrides":         {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("zz", "b", "", "", 1, groupOverrides)}, []string{"zz/b"}},
		"a group overrides, by rank": {[]placement.Rule{ranged("pd", "a", "", "", 3, groupIndex(9)), ranged("zz", "b", "", "", 1, groupOverrides)},
			[]string{"zz/b pd/a"}},
		"a rule for nothing": {[]placement.Rule{ranged("pd", "a", "", "", 3), ranged("pd", "b", "", "", 0)}, []string{"pd/a"}},
	} {
		var got []string
		for _, set := range placement.ByRange(c.rules) {
			var names []string
			for _, r := range set {
				names = append(names, r.Name())
			}
			got = append(got, strings.Join(names, " "))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestManyTables: a placement policy makes rules for each table, and they are all
// the same to the check.
func TestManyTables(t *testing.T) {
	rules := []placement.Rule{ranged("pd", "default", "", "", 3)}
	for i := range 5000 {
		rules = append(rules, ranged(fmt.Sprintf("TiDB_DDL_%d", i), "t", fmt.Sprintf("t%05d", i), fmt.Sprintf("t%05d_", i), 3,
			func(r *placement.Rule) { r.GroupOverride, r.GroupIndex = true, 40 }))
	}
	if got := placement.ByRange(rules); len(got) != 1 {
		t.Errorf("%d sets of rules: %v", len(got), got)
	}
}

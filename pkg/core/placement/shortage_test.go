package placement_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// store is a store with labels such as "zone=a,host=h1".
func store(id uint64, labels string) state.Store {
	s := state.Store{ID: id, State: state.StoreUp, Labels: map[string]string{}}
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, ok := strings.Cut(pair, "="); ok {
			s.Labels[key] = value
		}
	}
	return s
}

// stores are stores with the ids 1, 2, … and these labels; the last one leaves.
func stores(labels ...string) (stay []state.Store, leaves state.Store) {
	all := make([]state.Store, len(labels))
	for i, l := range labels {
		all[i] = store(uint64(i+1), l)
	}
	return all[:len(all)-1], all[len(all)-1]
}

func in(key string, values ...string) state.LabelConstraint {
	return state.LabelConstraint{Key: key, Op: "in", Values: values}
}

func op(key, op string, values ...string) state.LabelConstraint {
	return state.LabelConstraint{Key: key, Op: op, Values: values}
}

func rule(id string, count int, constraints ...state.LabelConstraint) state.PlacementRule {
	return state.PlacementRule{Group: "pd", ID: id, Role: "voter", Count: count, Constraints: constraints}
}

// apart has a rule keep its copies in different places.
func apart(r state.PlacementRule, level string, labels ...string) state.PlacementRule {
	r.LocationLabels, r.IsolationLevel = labels, level
	return r
}

func configured(r state.PlacementRule) state.PlacementRule {
	r.Configured = true
	return r
}

// TestMatches: which stores a rule takes, by PD's rules.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		labels string
		rule   state.PlacementRule
		want   bool
	}{
		{"", rule("any", 1), true},
		{"zone=a", rule("any", 1), true},
		{"zone=a", rule("in", 1, in("zone", "a", "b")), true},
		{"zone=c", rule("in", 1, in("zone", "a", "b")), false},
		{"", rule("in", 1, in("zone", "a", "b")), false},
		{"ZONE=a", rule("in, another spelling", 1, in("zone", "a")), true},
		{"", rule("in, an empty value", 1, in("zone", "")), false},
		{"", rule("not in, an empty value", 1, op("zone", "notIn", "")), true},
		{"zone=a", rule("not in", 1, op("zone", "notIn", "a")), false},
		{"zone=b", rule("not in", 1, op("zone", "notIn", "a")), true},
		{"", rule("not in, no label", 1, op("zone", "notIn", "a")), true},
		{"zone=b", rule("exists", 1, op("zone", "exists")), true},
		{"", rule("exists", 1, op("zone", "exists")), false},
		{"zone=b", rule("not exists", 1, op("zone", "notExists")), false},
		{"host=b", rule("not exists", 1, op("zone", "notExists")), true},
		{"zone=a,disk=ssd", rule("both", 1, in("zone", "a"), in("disk", "ssd")), true},
		{"zone=a,disk=hdd", rule("only one", 1, in("zone", "a"), in("disk", "ssd")), false},
		{"zone=a", rule("an unknown operator", 1, op("zone", "like", "a")), false},
		{"engine=tiflash", rule("any, TiFlash", 1), false},
		{"engine=tiflash", rule("TiFlash", 1, in("engine", "tiflash")), true},
		{"engine=tiflash,zone=a", rule("zone, TiFlash", 1, in("zone", "a")), false},
		{"exclusive=x", rule("any, exclusive", 1), false},
		{"$mode=x", rule("any, $", 1), false},
		{"$mode=x", rule("$", 1, in("$mode", "x")), true},
	} {
		if got := placement.Matches(c.rule, store(1, c.labels)); got != c.want {
			t.Errorf("rule %q, store %q: %t", c.rule.ID, c.labels, got)
		}
	}
}

// TestShort: the last store leaves; what PD could not keep without it.
func TestShort(t *testing.T) {
	zone3 := apart(rule("default", 3), "zone", "zone")
	for name, c := range map[string]struct {
		stores []string
		rules  []state.PlacementRule
		want   string
	}{
		"no rule":       {[]string{"", ""}, nil, ""},
		"enough stores": {[]string{"", "", "", ""}, []state.PlacementRule{rule("default", 3)}, ""},
		"too few stores": {[]string{"", "", ""}, []state.PlacementRule{rule("default", 3)},
			"placement rule pd/default asks for 3 copies of each region, and there are only 2 other such stores"},
		"too few stores with and without it": {[]string{"", ""}, []state.PlacementRule{rule("default", 3)},
			"placement rule pd/default asks for 3 copies of each region, and there is only 1 other such store"},
		"too few stores for max-replicas": {[]string{"", "", ""}, []state.PlacementRule{configured(rule("default", 3))},
			"PD keeps max-replicas=3 copies of each region, and there are only 2 other such stores"},
		"it is the last one of its zone": {[]string{"zone=a", "zone=a", "zone=b", "zone=b", "zone=c"},
			[]state.PlacementRule{rule("main", 2, op("zone", "notIn", "c")), rule("east", 1, in("zone", "c"))},
			"placement rule pd/east asks for 1 copy of each region on stores with zone=c, and there is no other such store"},
		"another zone's rule is short already": {[]string{"zone=a", "zone=a"},
			[]state.PlacementRule{rule("main", 1, in("zone", "a")), rule("east", 1, in("zone", "c"))}, ""},
		"another zone's rule is short as well": {[]string{"zone=a", "zone=a"},
			[]state.PlacementRule{rule("main", 2, in("zone", "a")), rule("east", 1, in("zone", "c"))},
			"placement rule pd/main asks for 2 copies of each region on stores with zone=a, and there is only 1 other such store"},
		"its label is one of several": {[]string{"zone=a", "zone=b", "zone=b", "zone=c"},
			[]state.PlacementRule{rule("west", 2, in("zone", "a", "c"))},
			"placement rule pd/west asks for 2 copies of each region on stores with zone in (a,c), and there is only 1 other such store"},
		"no label fits it": {[]string{"zone=a", "zone=c"}, []state.PlacementRule{rule("west", 2, in("zone", "a"))}, ""},
		"isolated, the last one of its zone": {[]string{"zone=a", "zone=a", "zone=b", "zone=b", "zone=c"}, []state.PlacementRule{zone3},
			"placement rule pd/default asks for 3 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone a, b"},
		"isolated, all others in one zone": {[]string{"zone=a", "zone=a", "zone=b"}, []state.PlacementRule{apart(rule("default", 2), "zone", "zone")},
			"placement rule pd/default asks for 2 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone a"},
		"isolated, in any order": {[]string{"zone=b", "zone=a", "zone=c"}, []state.PlacementRule{zone3},
			"placement rule pd/default asks for 3 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone a, b"},
		"isolated, from max-replicas": {[]string{"zone=a", "zone=a", "zone=b", "zone=c"}, []state.PlacementRule{configured(zone3)},
			"PD keeps max-replicas=3 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone a, b"},
		"isolated, zones enough":           {[]string{"zone=a", "zone=b", "zone=c", "zone=d"}, []state.PlacementRule{zone3}, ""},
		"isolated, its zone has another":   {[]string{"zone=a", "zone=b", "zone=c", "zone=c"}, []state.PlacementRule{zone3}, ""},
		"isolated, too few zones anyway":   {[]string{"zone=a", "zone=a", "zone=b", "zone=b"}, []state.PlacementRule{zone3}, ""},
		"isolated, without the label":      {[]string{"zone=a", "zone=b", ""}, []state.PlacementRule{zone3}, "placement rule pd/default asks for 3 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone a, b"},
		"isolated, others have no label":   {[]string{"", "", "zone=b", "zone=c"}, []state.PlacementRule{zone3}, "placement rule pd/default asks for 3 copies of each region, no two in the same zone (isolation-level), and the other stores are only in zone (none), b"},
		"preferred apart, not isolated":    {[]string{"zone=a", "zone=a", "zone=a", "zone=c"}, []state.PlacementRule{apart(rule("default", 3), "", "zone")}, ""},
		"isolated by what is no location":  {[]string{"zone=a", "zone=a", "zone=a", "zone=c"}, []state.PlacementRule{apart(rule("default", 3), "zone")}, ""},
		"isolated below the widest":        {[]string{"zone=a,host=1", "zone=a,host=2", "zone=b,host=1", "zone=b,host=2"}, []state.PlacementRule{apart(rule("default", 3), "host", "zone", "host")}, ""},
		"isolated below the widest, short": {[]string{"zone=a,host=1", "zone=a,host=2", "zone=a,host=2", "zone=b,host=2"}, []state.PlacementRule{apart(rule("default", 3), "host", "zone", "host")}, "placement rule pd/default asks for 3 copies of each region, no two in the same host (isolation-level), and the other stores are only in host a/1, a/2"},
		"voters and learners share stores": {[]string{"", "", "", ""},
			[]state.PlacementRule{rule("voters", 3), rule("learners", 1)},
			"placement rules pd/voters and pd/learners ask together for 4 copies of a region, each on another store, and only 3 other stores are what they ask for"},
		"voters and learners on their own": {[]string{"disk=hdd", "disk=ssd", "disk=ssd", "disk=ssd", "disk=ssd"},
			[]state.PlacementRule{rule("voters", 3, in("disk", "ssd")), rule("learners", 1, in("disk", "hdd"))}, ""},
		"one rule takes what another one needs": {[]string{"zone=a", "zone=b", "zone=b"},
			[]state.PlacementRule{rule("any", 1), rule("east", 2, in("zone", "b"))},
			"placement rule pd/east asks for 2 copies of each region on stores with zone=b, and there is only 1 other such store"},
		"TiFlash has rules of its own": {[]string{"", "", "engine=tiflash", ""},
			[]state.PlacementRule{rule("default", 2), rule("columns", 2, in("engine", "tiflash"))}, ""},
		"TiFlash does not count": {[]string{"", "", "engine=tiflash", ""}, []state.PlacementRule{rule("default", 3)},
			"placement rule pd/default asks for 3 copies of each region, and there are only 2 other such stores"},
	} {
		stay, leaves := stores(c.stores...)
		got := ""
		if s, short := placement.Short([][]state.PlacementRule{c.rules}, stay, leaves); short {
			got = s.String()
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// TestShortAgainstAllPlacements compares with the number of copies that can be placed
// when every way to place them is tried.
func TestShortAgainstAllPlacements(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	zones := []string{"zone=a", "zone=b", "zone=c", ""}
	constraints := []state.LabelConstraint{in("zone", "a"), op("zone", "notIn", "a"), op("zone", "exists"), in("zone", "b", "c")}
	shorts := 0
	for range 3000 {
		var labels []string
		for range 2 + rng.IntN(5) {
			labels = append(labels, zones[rng.IntN(len(zones))])
		}
		var set []state.PlacementRule
		for i := range 1 + rng.IntN(3) {
			r := rule(fmt.Sprint(i), 1+rng.IntN(3))
			if rng.IntN(2) == 0 {
				r.Constraints = append(r.Constraints, constraints[rng.IntN(len(constraints))])
			}
			if rng.IntN(2) == 0 {
				r = apart(r, "zone", "zone")
			}
			set = append(set, r)
		}
		stay, leaves := stores(labels...)
		_, got := placement.Short([][]state.PlacementRule{set}, stay, leaves)
		want := most(set, nil, stay) < most(set, nil, append(stay[:len(stay):len(stay)], leaves))
		if got != want {
			t.Fatalf("stores %q, rules %+v: short %t, want %t", labels, set, got, want)
		}
		if want {
			shorts++
		}
	}
	if shorts < 300 {
		t.Errorf("only %d of the cases are short", shorts)
	}
}

// most tries for each store every rule that it matches, and none.
func most(set []state.PlacementRule, taken [][]state.Store, rest []state.Store) int {
	if taken == nil {
		taken = make([][]state.Store, len(set))
	}
	if len(rest) == 0 {
		return 0
	}
	s, best := rest[0], most(set, taken, rest[1:])
	for i, r := range set {
		if !placement.Matches(r, s) || len(taken[i]) == r.Count || r.IsolationLevel != "" && clash(taken[i], s) {
			continue
		}
		taken[i] = append(taken[i], s)
		best = max(best, 1+most(set, taken, rest[1:]))
		taken[i] = taken[i][:len(taken[i])-1]
	}
	return best
}

func clash(taken []state.Store, s state.Store) bool {
	for _, o := range taken {
		if o.Labels["zone"] == s.Labels["zone"] {
			return true
		}
	}
	return false
}

// TestHelp: what a person can do depends on what the rule is changed by.
func TestHelp(t *testing.T) {
	command := func(words string) remedy.Command {
		return remedy.Kubectl("", append([]string{"exec", "pd", "--"}, strings.Fields(words)...)...)
	}
	zone3 := apart(rule("default", 3), "zone", "zone")
	policy := rule("table_rule_80_0", 1, in("zone", "c"))
	policy.Group = "TiDB_DDL_80"
	for name, c := range map[string]struct {
		stores []string
		rules  []state.PlacementRule
		want   string
	}{
		"a rule": {[]string{"zone=a", "zone=c"}, []state.PlacementRule{rule("east", 1, in("zone", "c"))},
			"add a TiKV store with zone=c; or change the rule: kubectl exec pd -- config placement-rules show --group=pd > rules.json && ${EDITOR:-vi} rules.json && kubectl exec -i pd -- config placement-rules save --in=/dev/stdin < rules.json"},
		"isolation-level of a rule": {[]string{"zone=a", "zone=b", "zone=c"}, []state.PlacementRule{zone3},
			"add a TiKV store in another zone; or change the rule: kubectl exec pd -- config placement-rules show --group=pd > rules.json && ${EDITOR:-vi} rules.json && kubectl exec -i pd -- config placement-rules save --in=/dev/stdin < rules.json"},
		"isolation-level in PD's settings": {[]string{"zone=a", "zone=a", "zone=b", "zone=c"}, []state.PlacementRule{configured(zone3)},
			"add a TiKV store in another zone; or have copies share a zone: kubectl exec pd -- config set isolation-level ''"},
		"rules that share stores": {[]string{"zone=a", "zone=b"}, []state.PlacementRule{apart(rule("voters", 1), "zone", "zone"), apart(rule("learners", 1), "zone", "zone")},
			"add a TiKV store; or change the rule: kubectl exec pd -- config placement-rules show --group=pd > rules.json && ${EDITOR:-vi} rules.json && kubectl exec -i pd -- config placement-rules save --in=/dev/stdin < rules.json"},
		"max-replicas": {[]string{"", "", ""}, []state.PlacementRule{configured(rule("default", 3))},
			"add a TiKV store; or keep fewer copies: kubectl exec pd -- config set max-replicas 2"},
		"a placement policy of TiDB": {[]string{"zone=a", "zone=c"}, []state.PlacementRule{policy},
			"add a TiKV store with zone=c; or change the placement policy in SQL (see SHOW PLACEMENT, then ALTER PLACEMENT POLICY)"},
	} {
		stay, leaves := stores(c.stores...)
		s, _ := placement.Short([][]state.PlacementRule{c.rules}, stay, leaves)
		if got := s.Help(command).Line(""); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// zones puts the stores into zones, by ordinal, and gives PD these rules. Zones after the last
// store of the cluster are of stores in another Kubernetes cluster.
func zones(c *plantest.Cluster, rules []state.PlacementRule, zones ...string) {
	members := c.Seen.Groups[tikv].Members
	c.Seen.PD.Placement.Rules = [][]state.PlacementRule{rules}
	for i, zone := range zones {
		s := state.Store{ID: uint64(i + 1), State: state.StoreUp, Labels: map[string]string{"zone": zone}}
		if i < len(members) {
			s.State, members[i].StoreLabels = members[i].Database.State, s.Labels
		}
		c.Seen.PD.Placement.Stores = append(c.Seen.PD.Placement.Stores, s)
	}
	c.Seen.PD.Stores = len(zones)
	c.Seen.PD.UpStores += max(len(zones)-len(members), 0)
}

// isolated returns PD's default rule with isolation-level zone.
func isolated() []state.PlacementRule {
	return []state.PlacementRule{{
		Group: "pd", ID: "default", Role: "voter", Count: 3, LocationLabels: []string{"zone"}, IsolationLevel: "zone", Configured: true,
	}}
}

// east returns rules that keep one copy of each region in zone c.
func east() []state.PlacementRule {
	in := func(values ...string) []state.LabelConstraint {
		return []state.LabelConstraint{{Key: "zone", Op: "in", Values: values}}
	}
	return []state.PlacementRule{
		{Group: "zones", ID: "east", Role: "follower", Count: 1, Constraints: in("c")},
		{Group: "zones", ID: "west", Role: "voter", Count: 2, Constraints: in("a", "b")},
	}
}

// TestPlacementRules: a store is removed only if PD has a place for its regions.
func TestPlacementRules(t *testing.T) {
	leave := func(rules []state.PlacementRule, where []string, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return in(tikv, append(changes, func(c *plantest.Cluster) { zones(c, rules, where...) })...)
	}
	be := func(name string, s state.StoreState) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			m := c.Member(name)
			m.Database.State, m.Database.Healthy = s, s == state.StoreUp
			c.Seen.PD.UpStores--
		}
	}
	elsewhere := func(s state.StoreState) *plantest.Cluster {
		c := leave(isolated(), []string{"a", "a", "b", "c", "c"})
		c.Seen.PD.Placement.Stores[4].State = s
		if s != state.StoreUp {
			c.Seen.PD.UpStores--
		}
		return c
	}
	unread := func(c *plantest.Cluster) { c.Seen.PD.Placement.Unread = "PD does not answer" }
	two := func(c *plantest.Cluster) {
		c.Want(tikv).Replicas, c.Want(tikv).ScaleIn, c.Seen.PD.MaxReplicas = 2, 2, 1
	}
	plantest.Table(t, "placement", []plantest.Case{
		{Name: "tikv-11-31: the last store of its zone, isolated", Cluster: leave(isolated(), []string{"a", "a", "b", "c"})},
		{Name: "another store of its zone, isolated", Cluster: leave(isolated(), []string{"a", "b", "c", "c"})},
		{Name: "another one elsewhere is in its zone", Cluster: leave(isolated(), []string{"a", "a", "b", "c", "c"})},
		{Name: "another one elsewhere is in its zone, and Down", Cluster: elsewhere(state.StoreDown)},
		{Name: "another one elsewhere is in its zone, and Disconnected", Cluster: elsewhere(state.StoreDisconnected)},
		{Name: "another one elsewhere is in its zone, and Offline", Cluster: elsewhere(state.StoreOffline)},
		{Name: "another one elsewhere is in its zone, and a tombstone", Cluster: elsewhere(state.StoreTombstone)},
		{Name: "tikv-11-31: the last store that a rule names", Cluster: leave(east(), []string{"a", "a", "b", "c"})},
		{Name: "not the last store that a rule names", Cluster: leave(east(), []string{"a", "b", "c", "c"})},
		{Name: "the rules could not be read", Cluster: leave(nil, []string{"a", "a", "b", "c"})},
		{Name: "the rules are not known yet", Cluster: leave(nil, []string{"a", "a", "b", "c"}, unread)},
		{Name: "the rules are not known yet, and it is offline", Cluster: leave(nil, []string{"a", "a", "b", "c"}, unread, be("t-tikv-3", state.StoreOffline))},
		{Name: "PD lists no stores with it", Cluster: leave(isolated(), []string{"a", "b", "c"})},
		{Name: "PD lists no stores with it, and too few others", Cluster: leave(isolated(), []string{"a", "a", "b"})},
		{Name: "of two that leave, the lower one is the last of its zone", Cluster: leave(isolated(), []string{"a", "b", "c", "c"}, two)},
		{Name: "of two that leave, the upper one is offline", Cluster: leave(isolated(), []string{"a", "b", "c", "c"}, two, be("t-tikv-3", state.StoreOffline))},
		{Name: "it does not serve, and is the last of its zone", Cluster: leave(isolated(), []string{"a", "a", "b", "c"}, be("t-tikv-3", state.StoreDown))},
		{Name: "it does not serve, and neither does the other one of its zone", Cluster: leave(isolated(), []string{"a", "b", "c", "c"},
			be("t-tikv-3", state.StoreDown), be("t-tikv-2", state.StoreDown))},
		{Name: "it serves, and the other one of its zone is Disconnected", Cluster: leave(isolated(), []string{"a", "b", "c", "c"},
			be("t-tikv-2", state.StoreDisconnected), func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 2 })},
		{Name: "it is new, and PD has not heard of it, nor of the other one of its zone", Cluster: leave(isolated(), []string{"a", "b", "c", "c"},
			be("t-tikv-3", state.StoreDown), be("t-tikv-2", state.StoreDown), func(c *plantest.Cluster) {
				c.Member("t-tikv-3").Database.Healthy, c.Member("t-tikv-3").Database.New, c.Member("t-tikv-2").Database.Healthy = true, true, true
				c.Seen.PD.MaxReplicas = 1
			})},
		{Name: "it is offline, and is the last of its zone", Cluster: leave(isolated(), []string{"a", "a", "b", "c"}, be("t-tikv-3", state.StoreOffline))},
		{Name: "it is a tombstone", Cluster: leave(isolated(), []string{"a", "a", "b", "c"}, be("t-tikv-3", state.StoreTombstone))},
	})
}

// TestPlacementRulesAfterALoss: the data of a store that was given up is removed
// only if PD has a place for it.
func TestPlacementRulesAfterALoss(t *testing.T) {
	lost := func(where ...string) *plantest.Cluster {
		c := plantest.New(3, 5, 2).Down(time.Hour, "t-tikv-1")
		m := c.Member("t-tikv-1")
		m.Database.State = state.StoreDown
		c.Want(tikv).Replicas = 4
		c.Want(tikv).Failures = []topology.Failure{{Member: m.Name, ID: m.Database.ID, Discarded: true, Created: plantest.Now.Add(-time.Hour)}}
		zones(c, isolated(), where...)
		return c
	}
	plantest.Table(t, "placement-after-a-loss", []plantest.Case{
		{Name: "its replacement is in its zone", Cluster: lost("a", "b", "c", "a", "b")},
		{Name: "the rules are not known yet", Cluster: func() *plantest.Cluster {
			c := lost("a", "b", "c", "a", "b")
			c.Seen.PD.Placement.Unread = "PD does not answer"
			return c
		}()},
		{Name: "tikv-11-31: no other store is in its zone", Cluster: lost("a", "b", "c", "a", "c")},
	})
}

// TestPlacementHelp: a gate about a store without a place for its regions says what to
// do, with commands that work.
func TestPlacementHelp(t *testing.T) {
	c := in(tikv, func(c *plantest.Cluster) { zones(c, east(), "a", "a", "b", "c") })
	want := "add a TiKV store with zone=c; or change the rule: " +
		"kubectl exec t-pd-0 -c pd -n ns -- /pd-ctl config placement-rules show --group=zones > rules.json && ${EDITOR:-vi} rules.json && " +
		"kubectl exec -i t-pd-0 -c pd -n ns -- /pd-ctl config placement-rules save --in=/dev/stdin < rules.json"
	if got := c.Decide().Gates; len(got) != 1 || got[0].Remedy.Line("") != want {
		t.Errorf("before: %+v", got)
	}
	c.Member("t-tikv-3").Database.State, c.Member("t-tikv-3").Database.Healthy = state.StoreOffline, false
	want += "; or to call it off, scale TiKV out again: the store is brought back up with what it has"
	if got := c.Decide().Gates; len(got) != 1 || got[0].Remedy.Line("") != want {
		t.Errorf("while it is Offline: %+v", got)
	}
}

// TestPlacementRefusals: what PD could never finish is refused before anything is
// written.
func TestPlacementRefusals(t *testing.T) {
	last := "TiKV: needs 4 or more replicas, 3 requested: without t-tikv-3, PD keeps max-replicas=3 copies of each region, " +
		"no two in the same zone (isolation-level), and the other stores are only in zone a, b"
	for name, c := range map[string]struct {
		replicas int
		rules    []state.PlacementRule
		zones    []string
		change   func(c *plantest.Cluster)
		want     string
	}{
		"the last one of its zone":              {3, isolated(), []string{"a", "a", "b", "c"}, nil, last},
		"the last one, and another one is Down": {3, isolated(), []string{"a", "b", "c", "c"}, func(c *plantest.Cluster) { c.Member("t-tikv-2").Database.State = state.StoreDown }, ""},
		"another one of its zone":               {3, isolated(), []string{"a", "b", "c", "c"}, nil, ""},
		"nothing leaves":                        {4, isolated(), []string{"a", "a", "b", "c"}, nil, ""},
		"the second one to leave": {2, isolated(), []string{"a", "b", "c", "c"}, func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 1 },
			"TiKV: needs 3 or more replicas, 2 requested: without t-tikv-2, PD keeps max-replicas=3 copies of each region, " +
				"no two in the same zone (isolation-level), and the other stores are only in zone a, b"},
		"fewer than max-replicas as well": {2, isolated(), []string{"a", "b", "c", "c"}, nil,
			"TiKV: needs 3 or more replicas, 2 requested: PD keeps max-replicas=3 copies of each region"},
		"a rule by name": {3, east(), []string{"a", "a", "b", "c"}, nil,
			"TiKV: needs 4 or more replicas, 3 requested: without t-tikv-3, placement rule zones/east asks for 1 copy of each region on stores with zone=c, and there is no other such store"},
		"a tombstone, which has no regions": {3, isolated(), []string{"a", "a", "b", "c"}, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
		}, ""},
		"a replacement, which stays, is the last one of its zone": {2, isolated(), []string{"a", "b", "c", "b"}, func(c *plantest.Cluster) {
			c.Seen.PD.MaxReplicas = 1
			c.Want(tikv).Failures = []topology.Failure{{Member: "t-tikv-0", ID: 1}}
		}, ""},
		"the rules are not known": {3, nil, []string{"a", "a", "b", "c"}, nil, ""},
	} {
		cluster := plantest.New(3, 4, 2)
		cluster.Want(tikv).Replicas = c.replicas
		if c.change != nil {
			c.change(cluster)
		}
		zones(cluster, c.rules, c.zones...)
		got := ""
		for _, g := range plan.Refusals(component.Profiles(), cluster.Wanted, cluster.Seen) {
			got += g.String()
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

package component_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// balanced is a cluster whose store t-tikv-4 has new volumes, and whose store t-tikv-3 is to get new ones when t-tikv-4 has
// its share of regions. The stores have so many regions.
func balanced(regions ...int) *plantest.Cluster {
	c := plantest.New(3, len(regions), 2)
	g := c.Want(topology.TiKV)
	g.Replacements = map[string]topology.MemberReplacement{
		"t-tikv-4": {Claims: []string{"old"}, WaitBalanced: true},
		"t-tikv-3": {Claims: []string{"claim-tikv-3"}, WaitBalanced: true},
	}
	for i, n := range regions {
		c.Member(fmt.Sprintf("t-tikv-%d", i)).Database.Regions = n
	}
	return c
}

// TestWaitBalanced: the next store is replaced when the one before has nearly as many regions as the store beside it that
// has the fewest. What a store cannot have, because of its size, its weight or its place, it need not have.
func TestWaitBalanced(t *testing.T) {
	edit := func(c *plantest.Cluster, change func(*plantest.Cluster)) *plantest.Cluster { change(c); return c }
	store := func(change func(*state.Member)) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { change(c.Member("t-tikv-4")) }
	}
	zones := func(zones ...string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Seen.PD.LocationLabels = []string{"zone", "host"}
			for i, zone := range zones {
				m := c.Member(fmt.Sprintf("t-tikv-%d", i))
				m.StoreLabels = map[string]string{"zone": zone, "host": m.Name}
			}
		}
	}
	spare := func(change func(*plantest.Cluster)) func(*plantest.Cluster) { // t-tikv-5 is there until all are replaced
		return func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Replicas, c.Want(topology.TiKV).Spare = 5, 1
			change(c)
		}
	}
	for name, tc := range map[string]struct {
		cluster *plantest.Cluster
		want    string // what is waited for; "" where the next store leaves
	}{
		"empty":                      {balanced(400, 410, 420, 430, 0), "0 regions, and 360 are its share beside t-tikv-0"},
		"nearly":                     {balanced(400, 410, 420, 430, 359), "359 regions, and 360 are its share beside t-tikv-0"},
		"its share":                  {balanced(400, 410, 420, 430, 360), ""},
		"few regions":                {balanced(6, 6, 6, 6, 0), "0 regions, and 1 are its share beside t-tikv-0"},
		"hardly any regions":         {balanced(5, 6, 6, 6, 0), ""},
		"PD tolerates more":          {edit(balanced(400, 410, 420, 430, 300), func(c *plantest.Cluster) { c.Seen.PD.Scheduling.Tolerance = 50 }), ""},
		"half of the weight":         {edit(balanced(400, 410, 420, 430, 170), store(func(m *state.Member) { m.Database.RegionWeight = 0.5 })), "170 regions, and 180 are its share beside t-tikv-0"},
		"a weight of 0":              {edit(balanced(400, 410, 420, 430, 0), store(func(m *state.Member) { m.Database.NoRegions = true })), ""},
		"a weight of 0 beside":       {edit(balanced(0, 410, 420, 430, 100), func(c *plantest.Cluster) { c.Member("t-tikv-0").Database.NoRegions = true }), "100 regions, and 369 are its share beside t-tikv-1"},
		"half of the size":           {edit(balanced(400, 410, 420, 430, 179), size(50)), "179 regions, and 180 are its share beside t-tikv-0"},
		"half of the size, share":    {edit(balanced(400, 410, 420, 430, 180), size(50)), ""},
		"twice the size":             {edit(balanced(400, 410, 420, 430, 360), size(200)), ""},
		"the only store of its zone": {edit(balanced(100, 110, 120, 130, 80), zones("a", "a", "b", "b", "c")), "80 regions, and 90 are its share beside t-tikv-0"},
		"others of its zone":         {edit(balanced(400, 410, 100, 105, 91), zones("a", "b", "c", "c", "c")), ""},
		"others have fewer":          {edit(balanced(100, 110, 410, 400, 300), zones("a", "b", "c", "c", "c")), "300 regions, and 360 are its share beside t-tikv-3"},
		"only a spare in its zone":   {edit(balanced(400, 410, 420, 430, 171, 190), spare(zones("a", "a", "b", "b", "c", "c"))), ""},
		"a spare has more":           {edit(balanced(400, 410, 420, 430, 170, 190), spare(zones("a", "a", "b", "b", "c", "c"))), "170 regions, and 171 are its share beside t-tikv-5"},
		"a spare elsewhere":          {edit(balanced(400, 410, 420, 430, 170, 190), spare(zones("a", "a", "b", "c", "c", "a"))), "170 regions, and 387 are its share beside t-tikv-3"},
		"another store is down":      {balanced(400, 10, 420, 430, 100).Down(0, "t-tikv-1"), "t-tikv-1 not serving"},
		"not asked for": {edit(balanced(400, 410, 420, 430, 0), func(c *plantest.Cluster) {
			r := c.Want(topology.TiKV).Replacements["t-tikv-3"]
			r.WaitBalanced = false
			c.Want(topology.TiKV).Replacements["t-tikv-3"] = r
		}), ""},
		"the next one leaves already": {balanced(400, 410, 420, 430, 0).Removing("t-tikv-3", 0), "regions left"},
		"an unknown number":           {balanced(400, 410, 420, 430, -1), ""},
	} {
		got := plantest.Text(tc.cluster.Decide())
		goes := strings.HasPrefix(got, "act\nevict region leaders from t-tikv-3")
		if tc.want == "" && !goes || tc.want != "" && (goes || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: got:\n%s\nwant %q", name, got, tc.want)
		}
	}
}

// size gives all stores a volume of 100 GiB, and t-tikv-4 another one.
func size(gib int) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, m := range c.Seen.Groups[topology.TiKV].Members {
			d := &c.Member(m.Name).Database
			d.Capacity, d.Available = 100<<30, 50<<30
		}
		d := &c.Member("t-tikv-4").Database
		d.Capacity, d.Available = topology.Size(gib)<<30, topology.Size(gib)<<29
	}
}

// TestNeverBalanced: where PD shows that it balances no regions, the wait is blocked, and names what PD is set to. A pause
// ends by itself. One command goes on without balance.
func TestNeverBalanced(t *testing.T) {
	const on = "go on without waiting for that: kubectl tidb replace t t-tikv-3 --wait-balanced=false -n ns"
	for name, tc := range map[string]struct {
		pd    state.Scheduling
		waits bool
		cause string
		fix   string
	}{
		"halted":            {state.Scheduling{Halted: true}, false, "PD moves no regions, since its scheduling is halted (halt-scheduling)", "config set halt-scheduling false"},
		"limit 0":           {state.Scheduling{NoBalance: true}, false, "PD balances no regions, since its region-schedule-limit is 0", "config set region-schedule-limit 2048"},
		"no scheduler":      {state.Scheduling{NoBalancer: true}, false, "PD balances no regions, since it has no balance-region-scheduler, or it is disabled", "scheduler add balance-region-scheduler"},
		"a limit of it":     {state.Scheduling{NoAdding: []uint64{5}}, false, "PD puts no regions onto store 5, since its limit add-peer is 0", "store limit 5 15 add-peer"},
		"a limit of others": {state.Scheduling{NoAdding: []uint64{1}}, true, "", "store"},
		"paused":            {state.Scheduling{BalancerPaused: true}, true, "PD's balance-region-scheduler is paused for a time", "scheduler resume balance-region-scheduler"},
		"nothing":           {state.Scheduling{}, true, "", "store"},
	} {
		c := balanced(400, 410, 420, 430, 12)
		c.Seen.PD.Scheduling = tc.pd
		want := "regions not balanced: 12 regions, and 360 are its share beside t-tikv-0"
		if tc.cause != "" {
			want += "; " + tc.cause
		}
		mark, outcome := "! ", "blocked\n"
		if tc.waits {
			mark, outcome = "? ", "wait\n"
		}
		p := c.Decide()
		if got := plantest.Text(p); got != outcome+mark+"t-tikv-4: "+want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, want)
			continue
		}
		if help := p.Gates[0].Remedy.Line(""); !strings.Contains(help, tc.fix) || !strings.HasSuffix(help, on) {
			t.Errorf("%s: %s", name, help)
		}
		c.Member("t-tikv-4").Database.Regions = 360
		if got := plantest.Text(c.Decide()); !strings.HasPrefix(got, "act\n") && !strings.Contains(got, "leaders not evicted") && !strings.Contains(got, "regions not moved") {
			t.Errorf("%s, with its share: got:\n%s", name, got)
		}
	}
}

// TestWaitBalancedBeforeBatches: PD is to balance regions before the next store is replaced. A rollout in batches comes
// after that, and has PD move no regions for balance only then.
func TestWaitBalancedBeforeBatches(t *testing.T) {
	for regions, holds := range map[int]bool{0: false, 400: true} {
		c := zoned(func(c *plantest.Cluster) { c.Policy.Held = time.Time{} })
		for i := range 9 {
			c.Member(fmt.Sprintf("t-tikv-%d", i)).Database.Regions = 400
		}
		c.Member("t-tikv-4").Database.Regions = regions
		c.Want(topology.TiKV).Replacements = balanced(0, 0, 0, 0, 0).Want(topology.TiKV).Replacements
		p := c.Decide()
		held := slices.ContainsFunc(p.Steps, func(s step.Step) bool { _, is := s.(step.HoldRegions); return is })
		if held != holds {
			t.Errorf("%d regions: PD is held: %t, want %t\n%s", regions, held, holds, plantest.Text(p))
		}
	}
}

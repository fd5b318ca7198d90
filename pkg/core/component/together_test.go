package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// zoned returns a cluster with nine stores in three zones, which a run restarts three at a time. The canary has been
// restarted before. PD shows that no region has two copies in one zone.
func zoned(change ...func(*plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 9, 4).Roll(tikv).Rolled(tikv, 8)
	c.Policy.Concurrency, c.Policy.Held = plan.Concurrency{Number: 3}, plantest.Now
	pd := &c.Seen.PD
	pd.LocationLabels, pd.IsolationLevel = []string{"zone", "host"}, "zone"
	pd.Isolation = state.Isolation{Regions: 300, Apart: map[string]int{"zone": 300}, Pass: 10 * time.Second, LabelsSince: plantest.Now.Add(-time.Hour)}
	pd.LeaderSince = plantest.Now.Add(-time.Hour)
	pd.Placement.Rules = [][]state.PlacementRule{{{
		Group: "pd", ID: "default", Role: "voter", Count: 3, LocationLabels: pd.LocationLabels, IsolationLevel: "zone",
	}}}
	for i := range c.Seen.Groups[tikv].Members {
		m := &c.Seen.Groups[tikv].Members[i]
		m.StoreLabels = map[string]string{"zone": string(rune('a' + i%3)), "HOST": m.Name}
	}
	for _, change := range change {
		change(c)
	}
	return c
}

// batched has a run restart the stores in batches already.
func batched(c *plantest.Cluster) {
	c.Set(tikv, func(s *state.Set) { s.InBatches, s.Partition = true, 0 })
}

// leaderless gives stores of a batch no leaders any more.
func leaderless(names ...string) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, n := range names {
			c.Evicting(n, time.Minute, 0)
		}
	}
}

func pdSays(change func(*state.PD)) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) { change(&c.Seen.PD) }
}

// TestBatches: stores of one zone restart together, where PD shows that no region has two copies there.
func TestBatches(t *testing.T) {
	plantest.Table(t, "batches", []plantest.Case{
		{Name: "the first store restarts alone", Cluster: zoned(func(c *plantest.Cluster) { *c = *plantest.New(3, 9, 4).Roll(tikv); c.Policy.Concurrency.Number = 3 })},
		{Name: "PD moves no regions meanwhile", Cluster: zoned(batched, func(c *plantest.Cluster) { c.Policy.Held = time.Time{} })},
		{Name: "PD is asked again", Cluster: zoned(batched, leaderless("t-tikv-5", "t-tikv-2"), func(c *plantest.Cluster) { c.Policy.Held = plantest.Now.Add(-40 * time.Second) })},
		{Name: "leaders leave all stores of the zone of the first", Cluster: zoned(batched)},
		{Name: "the order of restarts is left to the run before the first of them restarts", Cluster: zoned(leaderless("t-tikv-5", "t-tikv-2"))},
		{Name: "stores without leaders restart", Cluster: zoned(batched, leaderless("t-tikv-5", "t-tikv-2"))},
		{Name: "the second restarts while the first is down", Cluster: zoned(batched, leaderless("t-tikv-2"), func(c *plantest.Cluster) {
			c.Rolled(tikv, 5, 8).Down(time.Minute, "t-tikv-5")
			batched(c)
		})},
		{Name: "the second restarts while the pod of the first terminates", Cluster: zoned(batched, leaderless("t-tikv-2"), func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-5").Member("t-tikv-5").Pod.Terminating = true
		})},
		{Name: "the pods of a whole batch terminate", Cluster: zoned(batched, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-5", "t-tikv-2")
			c.Member("t-tikv-5").Pod.Terminating, c.Member("t-tikv-2").Pod.Terminating = true, true
		})},
		{Name: "the next zone waits for the whole batch", Cluster: zoned(func(c *plantest.Cluster) {
			c.Rolled(tikv, 2, 5, 8).Down(time.Minute, "t-tikv-5")
			batched(c)
		})},
		{Name: "a member of the batch crashes again and again", Cluster: zoned(batched, leaderless("t-tikv-2"), func(c *plantest.Cluster) {
			c.Rolled(tikv, 5, 8).Down(time.Minute, "t-tikv-5")
			batched(c)
			p := c.Member("t-tikv-5").Pod
			p.Restarts, p.Last = 9, state.Run{Started: plantest.Now.Add(-2 * time.Minute), Ended: plantest.Now.Add(-time.Minute)}
		})},
		{Name: "a member of the batch does not come back", Cluster: zoned(leaderless("t-tikv-2"), func(c *plantest.Cluster) {
			c.Rolled(tikv, 5, 8).Down(3*time.Minute, "t-tikv-5")
			batched(c)
		})},
		{Name: "with OrderedReady one at a time", Cluster: zoned(func(c *plantest.Cluster) { c.Set(tikv, func(s *state.Set) { s.Ordered = true }) })},
		{Name: "a store of another zone is down", Cluster: zoned(batched, func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-0") })},
		{Name: "the next zone, after leaders are back", Cluster: zoned(batched, func(c *plantest.Cluster) {
			c.Rolled(tikv, 2, 5, 8)
			batched(c)
		})},
		{Name: "all are restarted", Cluster: zoned(func(c *plantest.Cluster) {
			c.Rolled(tikv, 0, 1, 2, 3, 4, 5, 6, 7, 8)
			batched(c)
		})},
		{Name: "a later run restarts one at a time, and the order stays left to the run", Cluster: zoned(batched, leaderless("t-tikv-7"), func(c *plantest.Cluster) { c.Policy.Concurrency = plan.Concurrency{} })},
		{Name: "a canary holds the others: one at a time", Cluster: zoned(func(c *plantest.Cluster) { c.Want(tikv).Held, c.Want(tikv).Canary = true, 3 })},
		{Name: "a share of the members", Cluster: zoned(func(c *plantest.Cluster) { c.Policy.Concurrency = plan.Concurrency{Number: 25, Percent: true} })},
		{Name: "PD, where a person has left the rest to a run", Cluster: plantest.New(3, 4, 2).Roll(pd).Rolled(pd, 2).Set(pd, func(s *state.Set) { s.InBatches, s.Partition = true, 0 })},
		{Name: "a store lacks its label: it restarts alone", Cluster: zoned(batched, func(c *plantest.Cluster) { c.Member("t-tikv-5").StoreLabels = nil })},
	})
}

// TestBatchesRefused: what PD does not promise, or does not show, keeps stores from restarting together.
func TestBatchesRefused(t *testing.T) {
	plantest.Waits(t, "batches-refused", []plantest.Case{
		{Name: "a store with the old template fails, and one above it has to restart before", Cluster: zoned(func(c *plantest.Cluster) {
			*c = *plantest.New(3, 4, 2).Roll(tikv).Down(time.Hour, "t-tikv-0", "t-tikv-1")
			batched(c)
		})},
		{Name: "PD has no isolation level", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement.Rules[0][0].IsolationLevel = "" }))},
		{Name: "a placement rule keeps copies apart by host only", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement.Rules[0][0].IsolationLevel = "host" }))},
		{Name: "a placement rule has other labels than PD", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement.Rules[0][0].LocationLabels = []string{"rack", "zone"} }))},
		{Name: "PD has not gone through all regions yet", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Pass = 0 }))},
		{Name: "copies are missing, and a store of the batch is down", Cluster: zoned(leaderless("t-tikv-2"), pdSays(func(pd *state.PD) { pd.Isolation.Unsound = map[string]int{"miss-peer": 4} }), func(c *plantest.Cluster) {
			c.Rolled(tikv, 5, 8).Down(time.Minute, "t-tikv-5")
			batched(c)
		})},
		{Name: "two rules place copies of the same regions", Cluster: zoned(pdSays(func(pd *state.PD) {
			pd.Placement.Rules[0] = append(pd.Placement.Rules[0], state.PlacementRule{Group: "pd", ID: "other", Role: "follower", Count: 1, IsolationLevel: "zone"})
		}))},
		{Name: "a rule asks for two copies", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement.Rules[0][0].Count = 2 }))},
		{Name: "max-replicas is 2", Cluster: zoned(pdSays(func(pd *state.PD) { pd.MaxReplicas = 2 }))},
		{Name: "PD has not returned its rules", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement.Rules = nil }))},
		{Name: "the rules are not known now", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Placement = state.Placement{Unread: "PD does not answer"} }))},
		{Name: "the counts are not known now", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation = state.Isolation{Unread: "PD does not answer"} }))},
		{Name: "labels have changed a moment ago", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.LabelsSince = plantest.Now.Add(-20 * time.Second) }))},
		{Name: "PD has a new leader", Cluster: zoned(pdSays(func(pd *state.PD) { pd.LeaderSince = plantest.Now.Add(-20 * time.Second) }))},
		{Name: "PD takes long to count", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Pass = time.Hour }))},
		{Name: "regions have two copies in one zone", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Apart = map[string]int{"zone": 290, "host": 7, "none": 3} }))},
		{Name: "PD moves copies of regions", Cluster: zoned(pdSays(func(pd *state.PD) {
			pd.Isolation.Apart, pd.Isolation.Moving = map[string]int{"zone": 290, "none": 10}, 12
		}))},
		{Name: "PD has yet to count regions", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Apart = map[string]int{"zone": 290} }))},
		{Name: "PD has yet to count regions that have split", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Apart = map[string]int{"zone": 298} }))},
		{Name: "PD knows no regions", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Isolation.Regions, pd.Isolation.Apart = 0, nil }))},
		{Name: "PD counts nothing", Cluster: zoned(pdSays(func(pd *state.PD) { pd.Scheduling.Halted = true }))},
		{Name: "copies are behind", Cluster: zoned(pdSays(func(pd *state.PD) {
			pd.Isolation.Unsound = map[string]int{"pending-peer": 2, "miss-peer": 1, "down-peer": 0}
		}))},
		{Name: "copies are behind on the store of the batch that is down", Cluster: zoned(leaderless("t-tikv-2"), pdSays(func(pd *state.PD) { pd.Isolation.Unsound = map[string]int{"pending-peer": 2} }), func(c *plantest.Cluster) {
			c.Rolled(tikv, 5, 8).Down(time.Minute, "t-tikv-5")
			batched(c)
		})},
		{Name: "the stores elsewhere lead most already", Cluster: zoned(func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[tikv].Members {
				m := &c.Seen.Groups[tikv].Members[i]
				if m.Database.Leaders = 100; m.StoreLabels["zone"] != "c" && i > 1 {
					m.Database.Evicting, m.Database.Leaders = true, 0
				}
			}
		})},
	})
}

// TestServersTogether: up to half of the servers without data restart together.
func TestServersTogether(t *testing.T) {
	servers := func(n, concurrency int) *plantest.Cluster {
		c := plantest.New(3, 4, n).Roll(tidb).Rolled(tidb, n-1)
		c.Policy.Concurrency = plan.Concurrency{Number: concurrency}
		return c
	}
	inBatches := func(c *plantest.Cluster) *plantest.Cluster {
		return c.Set(tidb, func(s *state.Set) { s.InBatches, s.Partition = true, 0 })
	}
	plantest.Table(t, "servers-together", []plantest.Case{
		{Name: "two of four", Cluster: servers(4, 10)},
		{Name: "two of four, in batches", Cluster: inBatches(servers(4, 10))},
		{Name: "the second of a batch", Cluster: inBatches(servers(4, 2).Rolled(tidb, 2, 3).Down(time.Minute, "t-tidb-2"))},
		{Name: "after the batch", Cluster: inBatches(servers(4, 2).Rolled(tidb, 1, 2, 3).Down(time.Minute, "t-tidb-2"))},
		{Name: "one of two", Cluster: servers(2, 2)},
		{Name: "PD restarts one at a time", Cluster: func() *plantest.Cluster {
			c := plantest.New(5, 4, 2).Roll(pd)
			c.Policy.Concurrency.Number = 3
			return c
		}()},
	})
}

// TestUnbatchable: what cannot be restarted together is refused before anything is changed, with the numbers.
func TestUnbatchable(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    string
	}{
		"possible":           {zoned(), ""},
		"one at a time":      {zoned(func(c *plantest.Cluster) { c.Policy.Concurrency.Number = 1 }), ""},
		"nothing to restart": {zoned(func(c *plantest.Cluster) { *c = *plantest.New(3, 9, 4); c.Policy.Concurrency.Number = 3 }), ""},
		"no replicas":        {zoned(func(c *plantest.Cluster) { c.Set(tikv, func(s *state.Set) { s.Replicas = 0 }) }), ""},
		"no labels":          {zoned(pdSays(func(pd *state.PD) { pd.LocationLabels, pd.IsolationLevel = nil, "" })), "TiKV: batch not proven safe: PD has no location-labels, so that nobody knows which stores are in one place"},
		"no isolation level": {zoned(pdSays(func(pd *state.PD) { pd.IsolationLevel = "" })), "TiKV: batch not proven safe: PD has no isolation-level, so that it may put two copies of a region into one place"},
		"another level":      {zoned(pdSays(func(pd *state.PD) { pd.IsolationLevel = "rack" })), "TiKV: batch not proven safe: PD's isolation-level rack is none of its location-labels"},
		"broken isolation":   {zoned(pdSays(func(pd *state.PD) { pd.Isolation.Apart = map[string]int{"zone": 290, "none": 10} })), "TiKV: batch not proven safe: 10 of 300 regions have two copies in one zone"},
		"copies that PD moves": {zoned(pdSays(func(pd *state.PD) {
			pd.Isolation.Apart, pd.Isolation.Moving = map[string]int{"zone": 290, "none": 10}, 10
		})), ""},
		"more than a zone has":           {zoned(func(c *plantest.Cluster) { c.Policy.Concurrency.Number = 4 }), "TiKV: batch not proven safe: concurrency 4 is 4 of 9 members, and no failure domain has more than 3"},
		"a larger share than a zone has": {zoned(func(c *plantest.Cluster) { c.Policy.Concurrency = plan.Concurrency{Number: 50, Percent: true} }), "TiKV: batch not proven safe: concurrency 50% is 4 of 9 members, and no failure domain has more than 3"},
		"one zone": {zoned(func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].StoreLabels = map[string]string{"zone": "a"}
			}
		}), "TiKV: batch not proven safe: no store in another place takes leaders"},
		"a zone with most of the stores": {zoned(func(c *plantest.Cluster) {
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].StoreLabels = map[string]string{"zone": "aaaaaaabc"[i : i+1]}
			}
		}), "TiKV: batch not proven safe: the stores elsewhere would lead 25 regions each on average; now the average is 10"},
		"a change that is not written yet": {zoned(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.UpdateRevision = s.CurrentRevision })
			c.Want(tikv).Set.Drift = desired.Differs
			c.Policy.Concurrency.Number = 5
		}), "TiKV: batch not proven safe: concurrency 5 is 5 of 9 members, and no failure domain has more than 3"},
	} {
		got := ""
		for _, g := range plan.Unbatchable(component.Profiles(), c.cluster.Policy, c.cluster.Wanted, c.cluster.Seen) {
			if got = g.String(); !g.Blocked || g.Remedy == nil {
				t.Errorf("%s: %+v", name, g)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

package component_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const tiflash = topology.TiFlash

// flash returns a cluster with three stores of TiFlash, with changes.
func flash(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.NewFlash(3, 3, 3, 2)
	for _, change := range changes {
		change(c)
	}
	return c
}

// tables gives PD a rule for each number of replicas that a table asks for, besides its own.
func tables(replicas ...int) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		own := state.PlacementRule{Group: "pd", ID: "default", Role: "voter", Count: 3, Configured: true}
		sets := [][]state.PlacementRule{{own}}
		for i, n := range replicas {
			id := int64(101 + i)
			sets = append(sets, []state.PlacementRule{own, {
				Group: "tiflash", ID: "table", Role: "learner", Count: n, Tables: []state.Table{{ID: id, Name: "shop.orders"}, {ID: id + 100}},
				Constraints: []state.LabelConstraint{{Key: "engine", Op: "in", Values: []string{"tiflash"}}},
			}})
		}
		c.Seen.PD.Placement.Rules, c.Seen.PD.Placement.Stores = sets, nil
		for _, k := range []topology.Kind{tikv, tiflash} {
			for _, m := range c.Seen.Groups[k].Members {
				if m.Database.Presence == state.Present {
					c.Seen.PD.Placement.Stores = append(c.Seen.PD.Placement.Stores, state.Store{ID: m.Database.ID, State: m.Database.State, Labels: m.StoreLabels})
				}
			}
		}
	}
}

func fewer(n int) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) { c.Want(tiflash).Replicas = n }
}

// maxReplicas has PD ask for so many copies of each region.
func maxReplicas(n int) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = n }
}

// stateOfFirst gives the first store that PD lists a state.
func stateOfFirst(s state.StoreState) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) { c.Seen.PD.Placement.Stores[0].State = s }
}

// TestTiFlashUpkeep: pods and claims get the id of their store, and stores the labels of their nodes.
func TestTiFlashUpkeep(t *testing.T) {
	c := flash(func(c *plantest.Cluster) {
		delete(c.Member("t-tiflash-1").Pod.Identity.Labels, topology.LabelStoreID)
		c.Seen.PD.LocationLabels = []string{"zone"}
		c.Seen.Nodes = map[string]map[string]string{"node-0": {"zone": "a"}}
		c.Member("t-tikv-0").StoreLabels["zone"] = "a"
	})
	const want = "label store 51 of t-tiflash-0: zone=a\nlabel pod t-tiflash-1: tidb.pingcap.com/store-id=52"
	if got := c.Upkeep(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// rulesOff has PD place no copies by its placement rules, so that no store of TiFlash has joined it.
func rulesOff(c *plantest.Cluster) {
	c.Seen.PD.RulesDisabled = true
	c.Set(tiflash, func(s *state.Set) { *s = state.Set{} })
	g := c.Seen.Groups[tiflash]
	g.Members = nil
	c.Seen.Groups[tiflash] = g
	c.Want(tiflash).Set.Drift = 1
}

// podsOff is rulesOff of a cluster whose TiFlash pods are there, and cannot join.
func podsOff(c *plantest.Cluster) {
	c.Seen.PD.RulesDisabled = true
	for i := range c.Seen.Groups[tiflash].Members {
		c.Down(time.Minute, c.Seen.Groups[tiflash].Members[i].Name)
		c.Seen.Groups[tiflash].Members[i].Database = state.Database{Presence: state.Absent}
	}
}

// enabledBefore is a cluster whose placement rules we have enabled before.
func enabledBefore(c *plantest.Cluster) { c.Seen.RulesEnabled = plantest.Now.Add(-time.Hour) }

// TestPlacementRulesEnabled: they are enabled once, before TiFlash is made, and nothing else waits.
func TestPlacementRulesEnabled(t *testing.T) {
	plantest.Waits(t, "tiflash-rules", []plantest.Case{
		{Name: "disabled", Cluster: flash(rulesOff)},
		{Name: "disabled, and TiFlash has pods", Cluster: flash(podsOff)},
		{Name: "disabled again by a person", Cluster: flash(rulesOff, enabledBefore)},
		{Name: "disabled again by a person, and TiFlash has pods", Cluster: flash(podsOff, enabledBefore)},
		{Name: "enabled, and were before", Cluster: flash(enabledBefore)},
		{Name: "disabled, and no store is wanted", Cluster: flash(rulesOff, fewer(0))},
		{Name: "disabled, and PD is not bootstrapped", Cluster: flash(rulesOff, func(c *plantest.Cluster) {
			c.Seen.PD.Bootstrapped, c.Seen.PD.Stores, c.Seen.PD.UpStores = false, 0, 0
		})},
		{Name: "disabled, and PD has no leader", Cluster: flash(rulesOff, func(c *plantest.Cluster) { c.Seen.PD.Leader = "" })},
		{Name: "disabled again, and TiKV is to be restarted", Cluster: flash(rulesOff, enabledBefore, func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "disabled again, and TiDB is to be restarted", Cluster: flash(rulesOff, enabledBefore, func(c *plantest.Cluster) { c.Roll(topology.TiDB) })},
		{Name: "disabled, without TiFlash", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 3, 2)
			c.Seen.PD.RulesDisabled = true
			return c
		}()},
	})
}

// TestTiFlash: a store leaves only where the copies that tables ask for have another place. Nothing is evicted, and
// stores of TiKV and of TiFlash are not mixed up.
func TestTiFlash(t *testing.T) {
	unboot := func(c *plantest.Cluster) {
		c.Seen.PD.Bootstrapped, c.Seen.PD.Stores, c.Seen.PD.UpStores = false, 0, 0
		c.Set(tiflash, func(s *state.Set) { *s = state.Set{} })
		g := c.Seen.Groups[tiflash]
		g.Members = nil
		c.Seen.Groups[tiflash] = g
		c.Want(tiflash).Set.Drift = 1
	}
	plantest.Waits(t, "tiflash", []plantest.Case{
		{Name: "converged", Cluster: flash()},
		{Name: "created before a TiKV store has joined", Cluster: flash(unboot)},
		{Name: "one less, tables ask for two replicas", Cluster: flash(fewer(2), tables(2))},
		{Name: "tikv-11-16: one less, tables ask for three replicas", Cluster: flash(fewer(2), tables(2, 3))},
		{Name: "none any more, no table has a replica", Cluster: flash(fewer(0), tables())},
		{Name: "none any more, a table has one", Cluster: flash(fewer(0), tables(1))},
		{Name: "none any more, a table has two, and a store is Disconnected", Cluster: flash(fewer(0), func(c *plantest.Cluster) {
			c.Member("t-tiflash-0").Database.State, c.Member("t-tiflash-0").Database.Healthy = state.StoreDisconnected, false
		}, tables(2))},
		{Name: "one less, which a new leader of PD has not heard of", Cluster: flash(fewer(2), func(c *plantest.Cluster) {
			c.Member("t-tiflash-2").Database.State, c.Member("t-tiflash-2").Database.Healthy = state.StoreDown, false
			c.Seen.PD.LeaderSince = plantest.Now
		}, tables(2))},
		{Name: "TiKV needs another template for its first store, and TiFlash waits for that store", Cluster: flash(unboot, func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-0", "t-tikv-1", "t-tikv-2")
		})},
		{Name: "one less, rules are not read", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Seen.PD.Placement.Unread = "PD does not answer" })},
		{Name: "one less, another one is down", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Down(time.Minute, "t-tiflash-0") }, tables(2))},
		{Name: "one less, and PD has not heard yet of a TiKV store that is new", Cluster: flash(fewer(2), func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Database.New, c.Member("t-tikv-2").Database.State = true, state.StoreDown
		}, tables(2))},
		{Name: "one less, a TiKV store is down", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-0") }, tables(2))},
		{Name: "one less of TiFlash, of a PD that asks for more stores than there are", Cluster: flash(fewer(2), tables(2), func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 7 })},
		{Name: "leaving, regions left", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Removing("t-tiflash-2", time.Minute) }, tables(2))},
		{Name: "leaving, a table asks for more since", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Removing("t-tiflash-2", time.Minute) }, tables(3))},
		{Name: "one less, and it is joining", Cluster: flash(fewer(2), func(c *plantest.Cluster) {
			m := c.Member("t-tiflash-2")
			m.Database, m.Pod.Started = state.Database{Presence: state.Absent}, plantest.Now.Add(-5*time.Second)
		})},
		{Name: "one more, and PD cannot be asked", Cluster: flash(fewer(4), func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "leaving, of a PD that asks for more stores than there are", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Removing("t-tiflash-2", time.Minute) }, tables(2), maxReplicas(7))},
		{Name: "leaving, and PD has a new leader", Cluster: flash(fewer(2), func(c *plantest.Cluster) {
			c.Removing("t-tiflash-2", time.Minute)
			c.Seen.PD.LeaderSince = plantest.Now
		}, tables(2))},
		{Name: "one less, which a new leader of PD has heard of", Cluster: flash(fewer(2), func(c *plantest.Cluster) { c.Seen.PD.LeaderSince = plantest.Now }, tables(2))},
		{Name: "one less, and PD asks for as many stores as stay", Cluster: flash(fewer(2), tables(2), maxReplicas(5))},
		{Name: "one less, and of those that stay one leaves PD", Cluster: flash(fewer(2), tables(2), maxReplicas(5), stateOfFirst(state.StoreOffline))},
		{Name: "one less, and of those that stay one has left PD", Cluster: flash(fewer(2), tables(2), maxReplicas(5), stateOfFirst(state.StoreTombstone))},
		{Name: "one less, and PD lists no other store", Cluster: flash(fewer(2), tables(2), func(c *plantest.Cluster) {
			c.Seen.PD.Placement.Stores = c.Seen.PD.Placement.Stores[5:]
		})},
		{Name: "two less, which are down, and a table has two replicas", Cluster: flash(fewer(1), func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tiflash-1", "t-tiflash-2")
		}, tables(2))},
		{Name: "two less, one is down, and a table has two replicas", Cluster: flash(fewer(1), func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tiflash-1")
		}, tables(2))},
		{Name: "leaving, wanted again", Cluster: flash(func(c *plantest.Cluster) { c.Removing("t-tiflash-2", time.Minute) })},
		{Name: "a tombstone", Cluster: flash(fewer(2), func(c *plantest.Cluster) {
			c.Removing("t-tiflash-2", time.Minute).Member("t-tiflash-2").Database.State = state.StoreTombstone
			c.Member("t-tiflash-2").Claims = append(c.Member("t-tiflash-2").Claims, state.Claim{Name: "data1-t-tiflash-2", UID: "second"})
		}, tables(2))},
		{Name: "taken offline by a person", Cluster: flash(func(c *plantest.Cluster) { c.Offline("t-tiflash-2") })},
		{Name: "one less of TiKV does not count stores of TiFlash", Cluster: flash(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 2 })},
		{Name: "to be restarted", Cluster: flash(func(c *plantest.Cluster) { c.Roll(tiflash) })},
		{Name: "to be restarted, another one is down", Cluster: flash(func(c *plantest.Cluster) { c.Roll(tiflash).Down(time.Minute, "t-tiflash-0") })},
		{Name: "all are to be restarted", Cluster: flash(func(c *plantest.Cluster) { c.Roll(tiflash).Roll(tikv).Roll(tidb) })},
		{Name: "TiKV is to be restarted, and a store of TiFlash is down", Cluster: flash(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tiflash-0") })},
		{Name: "TiKV fails with its template, and TiFlash is to be restarted", Cluster: flash(func(c *plantest.Cluster) {
			c.Roll(tikv).Roll(tiflash).Down(time.Hour, "t-tikv-0", "t-tikv-1", "t-tikv-2").Down(time.Hour, "t-tiflash-0", "t-tiflash-1", "t-tiflash-2")
		})},
		{Name: "lost for an hour", Cluster: flash(func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tiflash-1").Member("t-tiflash-1").Database.State = state.StoreDown
			c.Seen.PD.MaxStoreDown, c.Policy.Failover = 30*time.Minute, plan.Failing{Members: true}
			c.Member("t-tiflash-1").Database.Since = plantest.Now.Add(-time.Hour)
		})},
		{Name: "suspended by itself", Cluster: flash(func(c *plantest.Cluster) { c.Want(tiflash).Suspend = true })},
		{Name: "suspended with TiKV", Cluster: flash(func(c *plantest.Cluster) {
			c.Want(tiflash).Suspend, c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true, true
			c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
			g := c.Seen.Groups[tidb]
			g.Members = nil
			c.Seen.Groups[tidb] = g
		})},
	})
}

// TestLeastTiFlash: what tables ask for bounds a scale-in before anything is changed.
func TestLeastTiFlash(t *testing.T) {
	for name, tt := range map[string]struct {
		tables []int
		want   int
		least  int
	}{
		"no table":        {nil, 0, 0},
		"as many":         {[]int{2}, 2, 0},
		"too few by one":  {[]int{2}, 1, 2},
		"too few by two":  {[]int{1, 3}, 1, 3},
		"none, one asked": {[]int{1}, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := flash(fewer(tt.want), tables(tt.tables...))
			refusals := plan.Refusals(component.Profiles(), c.Wanted, c.Seen)
			if len(refusals) > 0 != (tt.least > 0) {
				t.Fatalf("refused: %v", refusals)
			}
			if tt.least == 0 {
				return
			}
			// To ask for more replicas is said once, with their number.
			want := fmt.Sprintf("ask for %d or more; or have the table ask for less, in SQL: ALTER TABLE ", tt.least)
			if help := refusals[0].Remedy.Line(""); !strings.HasPrefix(help, want) || strings.Count(help, "ask for ") != 2 {
				t.Errorf("%s; %s", refusals[0].String(), help)
			}
		})
	}
}

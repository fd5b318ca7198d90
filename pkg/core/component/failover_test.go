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

// TestSpares: why a component does not give up a member that is down.
func TestSpares(t *testing.T) {
	for name, c := range map[string]struct {
		member string
		change func(m *state.Member)
		want   string
	}{
		"PD: nothing speaks for it":               {"t-pd-1", func(*state.Member) {}, ""},
		"PD: it is healthy in PD":                 {"t-pd-1", func(m *state.Member) { m.Database.Healthy = true }, "PD says that it is healthy"},
		"PD: it was removed":                      {"t-pd-1", func(m *state.Member) { m.Database = state.Database{Presence: state.Absent} }, ""},
		"PD: it never ran":                        {"t-pd-1", func(m *state.Member) { m.Database, m.Pod.Ran = state.Database{Presence: state.Absent}, false }, "it has never joined PD"},
		"PD: it was removed, and has no pod":      {"t-pd-1", func(m *state.Member) { m.Database, m.Pod = gone(), nil }, "it has never joined PD"},
		"TiKV: nothing speaks for it":             {"t-tikv-1", func(m *state.Member) { m.Database.State = state.StoreDown }, ""},
		"TiKV: PD waits for it":                   {"t-tikv-1", func(*state.Member) {}, "PD calls its store Disconnected, not Down"},
		"TiKV: PD does not know it":               {"t-tikv-1", func(m *state.Member) { m.Database = gone() }, "PD does not know its store"},
		"TiDB: nothing speaks for it":             {"t-tidb-1", func(*state.Member) {}, ""},
		"TiDB: its pod has no place":              {"t-tidb-1", func(m *state.Member) { m.Pod.Node = "" }, "there is no place for its pod, nor would be for another"},
		"TiDB: it has no pod":                     {"t-tidb-1", func(m *state.Member) { m.Database, m.Pod = gone(), nil }, "there is no place for its pod, nor would be for another"},
		"PD: it has served, its pod is a new one": {"t-pd-1", func(m *state.Member) { m.Pod.Ran = false }, ""},
		"PD: it never started, and has no pod": {"t-pd-1", func(m *state.Member) {
			m.Database.Unstarted, m.Database.Since, m.Pod = true, plantest.Now.Add(-time.Hour), nil
		}, ""},
	} {
		cluster := plantest.New(3, 4, 2).Down(time.Hour, c.member)
		m := cluster.Member(c.member)
		c.change(m)
		got := "not down"
		for _, k := range plan.LostMembers(component.Profiles(), cluster.Policy, cluster.Wanted, cluster.Seen) {
			if k.Member.Name == c.member {
				got = k.Spared
			}
		}
		if got != c.want {
			t.Errorf("%s: spared for %q, want %q", name, got, c.want)
		}
	}
}

// TestSparesWhoWaitedForPD: while no PD served, no member could join. So a member without data is
// not down for as long as its pod says.
func TestSparesWhoWaitedForPD(t *testing.T) {
	const waits = "it may be about to join, and PD serves for less than 5m0s"
	removed := state.Database{Presence: state.Absent}
	added := state.Database{Presence: state.Present, ID: 105, Unstarted: true}
	of := func(members int) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = members, members }
	}
	late := func(c *plantest.Cluster) *plantest.Cluster {
		m := c.Add(topology.PD)
		m.Pod, m.Database = nil, state.Database{Presence: state.Present, ID: 106, Name: "t-pd-5", Unstarted: true}
		return c
	}
	for name, c := range map[string]struct {
		is     state.Database
		served [4]time.Duration // since when the others run
		change func(c *plantest.Cluster)
		want   string
	}{
		"PD has served for long":                       {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour}, nil, ""},
		"it serves again":                              {removed, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, nil, waits},
		"it serves again, for long enough":             {removed, [4]time.Duration{time.Hour, time.Hour, 5 * time.Minute, time.Minute}, nil, ""},
		"it serves again, and has let it join":         {added, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, nil, waits},
		"it has served, and has let it join":           {added, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Minute}, nil, ""},
		"it serves again, with members elsewhere":      {removed, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, of(5), ""},
		"it serves again, with more members elsewhere": {removed, [4]time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}, of(7), waits},
		"it may have served elsewhere":                 {removed, [4]time.Duration{time.Minute, time.Minute, time.Minute, time.Minute}, of(9), ""},
		"it serves again, and there is no time left":   {removed, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, func(c *plantest.Cluster) { c.Policy.Failover.Now = true }, ""},
		"it serves again, a member that has voted": {state.Database{Presence: state.Present, ID: 105, Name: "t-pd-4"},
			[4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, nil, ""},
		"it serves again, a first member that was late crashes": {state.Database{Presence: state.Present, ID: 105, Name: "t-pd-4", Unstarted: true},
			[4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute}, nil, ""},
		"it serves again, and its pod has not run": {removed, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute},
			func(c *plantest.Cluster) { c.Member("t-pd-4").Pod.Ran = false }, "it has never joined PD"},
		"it serves again, and does not speak of it": {state.Database{}, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute},
			nil, "it has never joined PD"},
		"it serves again, and the pod of the last one has just gone": {removed, [4]time.Duration{time.Hour, time.Hour, time.Minute, time.Minute},
			func(c *plantest.Cluster) { c.Member("t-pd-3").Pod = nil }, ""},
		"another one has yet to start, and its pod comes after": {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour},
			func(c *plantest.Cluster) { late(c).Set(topology.PD, func(s *state.Set) { s.Ordered = true }) },
			"PD would not let it join again before t-pd-5 has started, and Kubernetes creates the pod of that one after its own"},
		"another one has no pod before its own, but has started before": {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour},
			func(c *plantest.Cluster) {
				late(c).Set(topology.PD, func(s *state.Set) { s.Ordered = true }).Member("t-pd-5").Database.Unstarted = false
			}, ""},
		"PD has no leader": {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour},
			func(c *plantest.Cluster) { c.Seen.PD.Leader = "" }, "PD does not serve: no leader"},
		"others crash again and again": {state.Database{Presence: state.Present, ID: 105, Name: "t-pd-4"}, [4]time.Duration{time.Hour, time.Hour, 10 * time.Second, 10 * time.Second},
			func(c *plantest.Cluster) {
				c.Seen.PD.Members = 5
				for _, name := range []string{"t-pd-2", "t-pd-3"} {
					p := c.Member(name).Pod
					p.Restarts, p.Last = 6, state.Run{Started: plantest.Now.Add(-time.Minute), Ended: plantest.Now.Add(-50 * time.Second)}
				}
			}, "PD cannot remove it: 4 of the other 4 members healthy, but 2 of them crash again and again"},
		"another one has yet to start, and its pod waits for no other": {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour},
			func(c *plantest.Cluster) { late(c) }, ""},
		"it serves again, and one of the first serves no more": {removed, [4]time.Duration{time.Hour, time.Hour, time.Hour, time.Minute},
			func(c *plantest.Cluster) {
				c.Member("t-pd-0").Database.Healthy = false
				c.Seen.PD.Healthy--
			}, waits},
	} {
		cluster := plantest.New(5, 4, 2).Down(time.Hour, "t-pd-4")
		cluster.Seen.PD.Members, cluster.Seen.PD.Healthy = 4, 4
		for i, ago := range c.served {
			cluster.Seen.Groups[topology.PD].Members[i].Pod.Started = plantest.Now.Add(-ago)
		}
		cluster.Member("t-pd-4").Database = c.is
		if c.change != nil {
			c.change(cluster)
		}
		got := "not down"
		for _, k := range plan.LostMembers(component.Profiles(), cluster.Policy, cluster.Wanted, cluster.Seen) {
			got = k.Spared
		}
		if got != c.want {
			t.Errorf("%s: spared for %q, want %q", name, got, c.want)
		}
	}
}

// gone returns the database half of a member that was removed an hour ago.
func gone() state.Database {
	return state.Database{Presence: state.Absent, Since: plantest.Now.Add(-time.Hour)}
}

// TestStoreGivenUp: a store whose data was given up leaves PD as any other store, if its regions
// have another place.
func TestStoreGivenUp(t *testing.T) {
	given := func(change func(c *plantest.Cluster, m *state.Member)) *plantest.Cluster {
		c := plantest.New(3, 5, 2).Down(time.Hour, "t-tikv-1")
		m := c.Member("t-tikv-1")
		m.Database.State = state.StoreDown
		c.Want(tikv).Replicas = 4
		c.Want(tikv).Failures = []topology.Failure{{Member: m.Name, ID: m.Database.ID, Discarded: true, Created: plantest.Now.Add(-time.Hour)}}
		change(c, m)
		return c
	}
	plantest.Table(t, "store-given-up", []plantest.Case{
		{Name: "it is Down", Cluster: given(func(*plantest.Cluster, *state.Member) {})},
		{Name: "it is Down, and there are too few others", Cluster: given(func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.MaxReplicas = 5 })},
		{Name: "it is Down, too few others are up, and PD's leader is new", Cluster: given(func(c *plantest.Cluster, _ *state.Member) {
			c.Seen.PD.MaxReplicas, c.Seen.PD.Stores, c.Seen.PD.LeaderSince = 5, 6, plantest.Now.Add(-time.Second)
		})},
		{Name: "PD takes it for Up yet", Cluster: given(func(c *plantest.Cluster, m *state.Member) {
			m.Database.State = state.StoreUp
			c.Seen.PD.UpStores = 5
		})},
		{Name: "it is a tombstone without a pod, and an eviction of it is recorded", Cluster: given(func(c *plantest.Cluster, m *state.Member) {
			m.Database.State, m.Pod = state.StoreTombstone, nil
			c.Recorded(m.Name, time.Hour)
		})},
		{Name: "it is a tombstone, and an eviction of it is recorded", Cluster: given(func(c *plantest.Cluster, m *state.Member) {
			m.Database.State = state.StoreTombstone
			c.Recorded(m.Name, time.Hour)
		})},
	})
}

// TestStoresElsewhere: stores in other Kubernetes clusters hold copies, too, so
// that fewer have to stay here.
func TestStoresElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		replicas, stores int
		change           func(c *plantest.Cluster)
		want             string
	}{
		"none, two are asked for":         {2, 4, nil, "TiKV: needs 3 or more replicas, 2 requested: PD keeps max-replicas=3 copies of each region"},
		"two, one is asked for":           {1, 6, nil, ""},
		"two, none is asked for":          {0, 6, nil, "TiKV: needs 1 or more replicas, 0 requested: PD keeps max-replicas=3 copies of each region"},
		"more than enough":                {0, 9, nil, ""},
		"PD does not count all of ours":   {2, 2, nil, "TiKV: needs 3 or more replicas, 2 requested: PD keeps max-replicas=3 copies of each region"},
		"two, one of ours is a tombstone": {1, 5, func(c *plantest.Cluster) { c.Member("t-tikv-3").Database.State = state.StoreTombstone }, ""},
		"two, one of ours is forgotten":   {1, 5, func(c *plantest.Cluster) { c.Member("t-tikv-3").Database = gone() }, ""},
	} {
		cluster := plantest.New(3, 4, 2)
		cluster.Want(tikv).Replicas, cluster.Seen.PD.Stores = c.replicas, c.stores
		if c.change != nil {
			c.change(cluster)
		}
		got := ""
		for _, g := range plan.Refusals(component.Profiles(), cluster.Wanted, cluster.Seen) {
			got += g.String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// evicted gives stores evict-leader schedulers that are not ours.
func evicted(names ...string) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, name := range names {
			c.Member(name).Database.Evicting = true
		}
	}
}

// started has PD wait for the first heartbeat of a store. The store itself says that it serves.
func started(name string) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		db := &c.Member(name).Database
		db.State, db.Healthy, db.Answer = state.StoreDown, true, state.Answered
		c.Seen.PD.UpStores--
	}
}

// copies makes all stores lead all of their regions, and sets PD's max-replicas. It is as if each
// region had one replica.
func copies(n int) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		c.Seen.PD.MaxReplicas = n
		for i := range c.Seen.Groups[tikv].Members {
			d := &c.Seen.Groups[tikv].Members[i].Database
			d.Regions = d.Leaders
		}
	}
}

// TestWhereLeadersGo: leaders leave a store before it goes if another store can take them.
// Otherwise they stay.
func TestWhereLeadersGo(t *testing.T) {
	few := store(func(m *state.Member) { m.Database.Leaders = 1 })
	none := store(func(m *state.Member) { m.Database.Leaders = 0 })
	two := func(leaders int) *plantest.Cluster {
		c := plantest.New(3, 2, 1).Roll(tikv)
		c.Member("t-tikv-0").Database.Evicting, c.Member("t-tikv-1").Database.Leaders = true, leaders
		return c
	}
	plantest.Table(t, "where-leaders-go", []plantest.Case{
		{Name: "removal, no other store takes them: they go with their regions", Cluster: in(tikv, evicted("t-tikv-0", "t-tikv-1", "t-tikv-2"))},
		{Name: "removal, one other store takes them", Cluster: in(tikv, evicted("t-tikv-0", "t-tikv-1"))},
		{Name: "removal, the one that takes them serves beside one that does not", Cluster: in(tikv, evicted("t-tikv-0", "t-tikv-1"), func(c *plantest.Cluster) {
			c.Seen.PD.MaxReplicas = 2
			c.Down(time.Minute, "t-tikv-0").Evicting("t-tikv-3", time.Minute, 3)
		})},
		{Name: "removal, there is one replica of each region", Cluster: in(tikv, copies(1))},
		{Name: "restart, no other store takes the last leader", Cluster: roll(tikv, evicted("t-tikv-0", "t-tikv-1", "t-tikv-2"), few)},
		{Name: "restart, no other store would take any, and there are none", Cluster: roll(tikv, evicted("t-tikv-0", "t-tikv-1", "t-tikv-2"), none)},
		{Name: "restart, the only other store takes none", Cluster: two(5)},
		{Name: "restart, there is one replica of each region, but there will be more", Cluster: roll(tikv, copies(3))},
		{Name: "restart, each region seems to have one replica", Cluster: roll(tikv, copies(1), evicted("t-tikv-0"))},
	})
}

// TestEvictionWaits: what is said while leaders leave, or come back.
func TestEvictionWaits(t *testing.T) {
	plantest.Waits(t, "eviction-waits", []plantest.Case{
		{Name: "before a restart", Cluster: policy(plan.Eviction{}, time.Minute)},
		{Name: "before a restart, with less patience", Cluster: policy(plan.Eviction{Timeout: 10 * time.Minute}, time.Minute)},
		{Name: "before a restart, with none", Cluster: policy(plan.Eviction{Timeout: 1, OnTimeout: plan.Fail}, 0)},
		{Name: "before a restart, all other stores have schedulers", Cluster: roll(tikv, evicted("t-tikv-0", "t-tikv-1", "t-tikv-2"))},
		{Name: "before a restart, and the only other store without one has just started", Cluster: roll(tikv, evicted("t-tikv-0", "t-tikv-1"), started("t-tikv-2"))},
		{Name: "before a restart, PD does not list the store, which has just started", Cluster: roll(tikv, store(func(m *state.Member) {
			m.Database, m.Pod.Started = state.Database{Presence: state.Absent}, plantest.Now.Add(-time.Minute)
		}))},
		{Name: "before a removal", Cluster: in(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "before a removal, given up", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", 6*time.Minute, 3)
			c.Policy.Eviction.OnTimeout = plan.Fail
		})},
		{Name: "after a restart, before the next", Cluster: returning(600, 399, time.Minute)},
		{Name: "the regions of a store leave it", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Removing("t-tikv-3", 59*time.Minute)
		})},
		{Name: "the regions of a store leave it, and it is not known since when", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Removing("t-tikv-3", time.Hour)
			c.Seen.Removals[0].Since = time.Time{}
		})},
		{Name: "the regions of a store leave it, for an hour", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Removing("t-tikv-3", time.Hour)
		})},
	})
}

// TestEvictionEnds: the eviction of a restarted store ends as soon as the store serves, and no earlier. Schedulers of
// other users stay.
func TestEvictionEnds(t *testing.T) {
	restarted := func(change func(*plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 3, 1).Evicting("t-tikv-2", time.Minute, 3)
		c.Member("t-tikv-2").Pod.Since = plantest.Now
		change(c)
		return c
	}
	plantest.Waits(t, "eviction-ends", []plantest.Case{
		{Name: "just Ready", Cluster: restarted(func(*plantest.Cluster) {})},
		{Name: "just Ready, the scheduler is not ours", Cluster: restarted(func(c *plantest.Cluster) { c.Seen.Evictions = nil })},
		{Name: "not ready", Cluster: restarted(func(c *plantest.Cluster) { c.Down(time.Second, "t-tikv-2") })},
		{Name: "Ready, PD has not heard of the store yet", Cluster: restarted(func(c *plantest.Cluster) {
			d := &c.Member("t-tikv-2").Database
			d.State, d.Healthy = state.StoreDisconnected, false
		})},
	})
}

// TestRoomForRegions: a store goes only where PD has enough others for its regions.
func TestRoomForRegions(t *testing.T) {
	two := func(maxReplicas int) *plantest.Cluster {
		c := plantest.New(3, 6, 2)
		c.Want(tikv).Replicas, c.Want(tikv).ScaleIn, c.Seen.PD.MaxReplicas = 4, 2, maxReplicas
		return c
	}
	down := func(stores int) *plantest.Cluster {
		return in(tikv, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Database.State = state.StoreDown
			c.Seen.PD.Stores = stores
		})
	}
	elsewhere := func(leads time.Duration) *plantest.Cluster {
		c := down(5)
		c.Seen.PD.MaxReplicas, c.Seen.PD.LeaderSince = 4, plantest.Now.Add(-leads)
		return c
	}
	plantest.Waits(t, "room-for-regions", []plantest.Case{
		{Name: "one is Up, PD's leader is new, too few others are up", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Seen.PD.UpStores, c.Seen.PD.LeaderSince = 3, plantest.Now.Add(-10*time.Second)
		})},
		{Name: "PD calls one Up though it has not heard of it for minutes, too few others are up", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Down(3*time.Minute, "t-tikv-3").Member("t-tikv-3").Database.State = state.StoreUp
			c.Member("t-tikv-3").Pod.Started = plantest.Now.Add(-3 * time.Minute)
		})},
		{Name: "two go, enough stay", Cluster: two(4)},
		{Name: "one goes, enough stay, and one has just started", Cluster: in(tikv, started("t-tikv-1"))},
		{Name: "two go, one too many", Cluster: two(5)},
		{Name: "one that is Down goes, enough stay", Cluster: down(4)},
		{Name: "one that is Down goes, too few stay", Cluster: down(3)},
		{Name: "one that is Down goes, one elsewhere is not up", Cluster: elsewhere(time.Hour)},
		{Name: "the same, but PD's leader is new", Cluster: elsewhere(29 * time.Second)},
	})
}

// TestLeadersLeft: how many leaders have yet to leave, from which the remaining time is computed. It
// is no number while the store does not report it.
func TestLeadersLeft(t *testing.T) {
	for leaders, want := range map[int]plan.Quantity{
		5:  {Number: 5, Unit: plan.Leaders},
		1:  {Number: 1, Unit: plan.Leaders},
		0:  {Unit: plan.Leaders}, // there is no scheduler yet, so that leaders may come back
		-1: {},
	} {
		left := store(func(m *state.Member) { m.Database.Leaders = leaders })
		for _, c := range []*plantest.Cluster{roll(tikv, left), in(tikv, left)} {
			gates := c.Decide().Gates
			if len(gates) != 1 || gates[0].Reason != plan.LeadersEvicted || gates[0].Left != want {
				t.Errorf("%d: %+v, want %+v left", leaders, gates, want)
			}
		}
	}
}

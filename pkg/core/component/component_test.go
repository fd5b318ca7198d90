package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

const (
	pd   = topology.PD
	tikv = topology.TiKV
	tidb = topology.TiDB
)

// in returns a cluster that is to be scaled in by one, with changes.
func in(kind topology.Kind, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 2)
	c.Want(kind).Replicas--
	for _, change := range changes {
		change(c)
	}
	return c
}

// roll returns a cluster whose rollout begins with the highest ordinal, with changes.
func roll(kind topology.Kind, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 2).Roll(kind)
	for _, change := range changes {
		change(c)
	}
	return c
}

// lead makes another member PD's leader.
func lead(c *plantest.Cluster, name string) {
	c.Member(c.Seen.PD.Leader).Database.Leader = false
	c.Seen.PD.Leader = name
	if name != "" {
		c.Member(name).Database.Leader = true
	}
}

func TestPDRestart(t *testing.T) {
	plantest.Table(t, "pd-restart", []plantest.Case{
		{Name: "a follower", Cluster: roll(pd)},
		{Name: "the leader, before any restart", Cluster: roll(pd, func(c *plantest.Cluster) { lead(c, "t-pd-2") })},
		{Name: "the leader, others are rolled", Cluster: roll(pd, func(c *plantest.Cluster) { c.Rolled(pd, 1, 2) })},
		{Name: "a follower, and a member that was restarted leads", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 2)
			lead(c, "t-pd-2")
		})},
		{Name: "no leader", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Member("t-pd-0").Database.Leader = false
			c.Seen.PD.Leader = ""
		})},
		{Name: "the leader is elsewhere", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Member("t-pd-0").Database.Leader = false
			c.Seen.PD.Leader, c.Seen.PD.Members, c.Seen.PD.Healthy = "elsewhere", 5, 5
		})},
		{Name: "members elsewhere are down", Cluster: roll(pd, func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 5, 3 })},
		{Name: "a member elsewhere is down", Cluster: roll(pd, func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 5, 4 })},
		{Name: "a peer is down", Cluster: roll(pd, func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-0") })},
		{Name: "PD is unknown", Cluster: roll(pd, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "pd-B14: the only member", Cluster: plantest.New(1, 3, 1).Roll(pd)},
		{Name: "pd-B14: one of two", Cluster: plantest.New(2, 3, 1).Roll(pd)},
		{Name: "pd-B14: one of two, the leader", Cluster: plantest.New(2, 3, 1).Roll(pd).Rolled(pd, 1)},
		{Name: "pd-B14: the only one of three that is broken", Cluster: roll(pd, func(c *plantest.Cluster) { c.Down(time.Hour, "t-pd-2") })},
		{Name: "pd-B22: Kubernetes takes a peer for ready, PD does not", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Member("t-pd-0").Database.Healthy, c.Seen.PD.Healthy = false, 2
		})},
	})
}

func TestPDRemove(t *testing.T) {
	marked := func(c *plantest.Cluster) { c.Member("t-pd-2").Claims[0].Marked = true }
	plantest.Table(t, "pd-remove", []plantest.Case{
		{Name: "a follower", Cluster: in(pd)},
		{Name: "the leader", Cluster: in(pd, func(c *plantest.Cluster) { lead(c, "t-pd-2") })},
		{Name: "claims are marked", Cluster: in(pd, marked)},
		{Name: "removed from PD", Cluster: in(pd, marked, func(c *plantest.Cluster) {
			c.Member("t-pd-2").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "never joined", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Member("t-pd-2").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "no leader", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Member("t-pd-0").Database.Leader = false
			c.Seen.PD.Leader = ""
		})},
		{Name: "a peer is down", Cluster: in(pd, func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-1") })},
		{Name: "it is down itself", Cluster: in(pd, func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-2") })},
		{Name: "members elsewhere are down", Cluster: in(pd, func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 4 })},
		{Name: "PD is unknown", Cluster: in(pd, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "the last one", Cluster: func() *plantest.Cluster {
			c := plantest.New(1, 3, 1)
			c.Want(pd).Replicas = 0
			return c
		}()},
		{Name: "one of two, the leader", Cluster: func() *plantest.Cluster {
			c := plantest.New(2, 3, 1)
			lead(c, "t-pd-1")
			c.Want(pd).Replicas = 1
			return c
		}()},
	})
}

func TestTiKVRestart(t *testing.T) {
	plantest.Table(t, "tikv-restart", []plantest.Case{
		{Name: "not evicting", Cluster: roll(tikv)},
		{Name: "evicting, leaders left", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "evicting, none left", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "evicting, the store does not answer", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, -1) })},
		{Name: "evicting, out of time", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Hour, 3) })},
		{Name: "recorded, but PD has no scheduler", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Recorded("t-tikv-3", time.Minute) })},
		{Name: "tikv-11-4: recorded long ago, but PD has no scheduler", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Recorded("t-tikv-3", 99*time.Hour) })},
		{Name: "recorded, PD has no scheduler, no leaders", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Recorded("t-tikv-3", time.Minute)
			c.Member("t-tikv-3").Database.Leaders = 0
		})},
		{Name: "another user evicts, leaders left", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Member("t-tikv-3").Database.Evicting = true })},
		{Name: "another user evicts, none left", Cluster: roll(tikv, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database.Evicting, m.Database.Leaders = true, 0
		})},
		{Name: "leaders have nowhere to go, since no store elsewhere is up", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Seen.PD.UpStores = 1 })},
		{Name: "a peer is down", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-0") })},
		{Name: "a peer is down, this one evicts", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-0").Evicting("t-tikv-3", time.Minute, 0)
		})},
		{Name: "restarted, still evicting", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Rolled(tikv, 3).Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "restarted, not up yet", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Evicting("t-tikv-3", time.Minute, 0).Down(time.Minute, "t-tikv-3")
		})},
		{Name: "restarted, recorded, PD forgot", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Rolled(tikv, 3).Recorded("t-tikv-3", time.Minute) })},
		{Name: "called off while evicting", Cluster: func() *plantest.Cluster {
			return plantest.New(3, 4, 2).Evicting("t-tikv-3", time.Minute, 5)
		}()},
		{Name: "the user's to restart, while evicting", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 5).Set(tikv, func(s *state.Set) { s.Manual = true })
		})},
		{Name: "PD is unknown", Cluster: roll(tikv, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "PD has no leader", Cluster: roll(tikv, func(c *plantest.Cluster) { c.Seen.PD.Leader = "" })},
		{Name: "tikv-11-3: the store is dead", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Database.Leaders = -1
		})},
		{Name: "tikv-11-14: PD has one member", Cluster: plantest.New(1, 4, 2).Roll(tikv)},
		{Name: "tikv-11-14: PD has two members", Cluster: plantest.New(2, 4, 2).Roll(tikv)},
		{Name: "tikv-11-22: restarted, and has yet to register", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "tikv-11-22: restarted, and its store is unknown", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Member("t-tikv-3").Database = state.Database{}
		})},
		{Name: "tikv-11-22: to be restarted, and its store is unknown", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database = state.Database{}
		})},
		{Name: "tikv-11-40: the record cannot be read", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3)
			c.Seen.Evictions = []state.Eviction{{StoreID: 4}}
		})},
		{Name: "tikv-11-40: the record cannot be read, no leaders", Cluster: roll(tikv, func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 0)
			c.Seen.Evictions = []state.Eviction{{StoreID: 4}}
		})},
	})
}

// policy returns a cluster with a store from which leaders have been evicted for a while, under a
// policy.
func policy(p plan.Eviction, ago time.Duration) *plantest.Cluster {
	return roll(tikv, func(c *plantest.Cluster) {
		c.Evicting("t-tikv-3", ago, 3)
		c.Policy.Eviction = p
	})
}

// unlimited is the same where the spec has no time limit.
func unlimited(p plan.Eviction, ago time.Duration) *plantest.Cluster {
	c := policy(p, ago)
	c.Want(tikv).EvictTimeout = nil
	return c
}

func TestEvictPolicy(t *testing.T) {
	in5 := func(p plan.Eviction) *plantest.Cluster {
		return in(tikv, func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", 6*time.Minute, 3)
			c.Policy.Eviction = p
		})
	}
	plantest.Table(t, "evict-policy", []plantest.Case{
		{Name: "tikv-11-44: less patience, not over", Cluster: policy(plan.Eviction{Timeout: 10 * time.Minute}, 9*time.Minute)},
		{Name: "tikv-11-44: less patience, over", Cluster: policy(plan.Eviction{Timeout: 10 * time.Minute}, 10*time.Minute)},
		{Name: "tikv-11-44: fail", Cluster: policy(plan.Eviction{OnTimeout: plan.Fail}, time.Hour)},
		{Name: "fail, not over", Cluster: policy(plan.Eviction{OnTimeout: plan.Fail}, time.Minute)},
		{Name: "no limit, begun long ago by another run", Cluster: unlimited(plan.Eviction{}, 99*time.Hour)},
		{Name: "no limit, fail", Cluster: unlimited(plan.Eviction{OnTimeout: plan.Fail}, time.Hour)},
		{Name: "no limit, proceed", Cluster: unlimited(plan.Eviction{OnTimeout: plan.Proceed}, time.Hour)},
		{Name: "no limit, wait", Cluster: unlimited(plan.Eviction{OnTimeout: plan.Persist}, time.Hour)},
		{Name: "no limit, a limit for this run", Cluster: unlimited(plan.Eviction{Timeout: time.Minute}, time.Minute)},
		{Name: "wait", Cluster: policy(plan.Eviction{OnTimeout: plan.Persist}, 99*time.Hour)},
		{Name: "remove", Cluster: in5(plan.Eviction{})},
		{Name: "remove, more patience", Cluster: in5(plan.Eviction{Timeout: 10 * time.Minute})},
		{Name: "remove, fail", Cluster: in5(plan.Eviction{OnTimeout: plan.Fail})},
	})
}

func TestFeasibility(t *testing.T) {
	one := func(c *plantest.Cluster) {
		c.Seen.PD.MaxReplicas = 1
		for i := range 4 {
			c.Seen.Groups[tikv].Members[i].Database.Regions = 10
		}
	}
	plantest.Table(t, "feasibility", []plantest.Case{
		{Name: "the only store", Cluster: plantest.New(1, 1, 1).Roll(tikv)},
		{Name: "one replica of each region", Cluster: roll(tikv, one)},
		{Name: "max-replicas is one, but placement rules ask for more", Cluster: roll(tikv, one, func(c *plantest.Cluster) {
			c.Member("t-tikv-0").Database.Regions = 11
		})},
		{Name: "others have schedulers on all other stores", Cluster: roll(tikv, func(c *plantest.Cluster) {
			for i := range 3 {
				c.Seen.Groups[tikv].Members[i].Database.Evicting = true
			}
		})},
		{Name: "others have schedulers on all but one", Cluster: roll(tikv, func(c *plantest.Cluster) {
			for i := range 2 {
				c.Seen.Groups[tikv].Members[i].Database.Evicting = true
			}
		})},
		{Name: "a store in another Kubernetes cluster takes them", Cluster: roll(tikv, func(c *plantest.Cluster) {
			for i := range 3 {
				c.Seen.Groups[tikv].Members[i].Database.Evicting = true
			}
			c.Seen.PD.UpStores, c.Seen.PD.Stores = 5, 5
		})},
	})
}

// returning returns a cluster whose rollout has restarted its first store. That store had a number
// of leaders before, and its eviction ended a while ago.
func returning(before, now int, ago time.Duration, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	return roll(tikv, append([]func(c *plantest.Cluster){func(c *plantest.Cluster) {
		c.Rolled(tikv, 3)
		c.Member("t-tikv-3").Database.Leaders = now
		c.Seen.Evictions = []state.Eviction{{
			StoreID: 4, Member: "t-tikv-3", Since: plantest.Now.Add(-time.Hour), Leaders: before, Ended: plantest.Now.Add(-ago),
		}}
	}}, changes...)...)
}

func TestLeadersReturn(t *testing.T) {
	up := func(before int) *plantest.Cluster {
		return roll(tikv, func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Evicting("t-tikv-3", time.Minute, 0)
			c.Seen.Evictions[0].Leaders = before
		})
	}
	plantest.Table(t, "leaders-return", []plantest.Case{
		{Name: "restarted, few leaders before", Cluster: up(199)},
		{Name: "restarted, many leaders before", Cluster: up(200)},
		{Name: "restarted, many leaders before, and nothing else is to be restarted", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Evicting("t-tikv-3", time.Minute, 0)
			c.Seen.Evictions[0].Leaders = 200
			return c
		}()},
		{Name: "few are back", Cluster: returning(600, 399, time.Minute)},
		{Name: "two thirds are back", Cluster: returning(600, 400, time.Minute)},
		{Name: "their time is almost over", Cluster: returning(600, 0, 399*time.Second)},
		{Name: "their time is over", Cluster: returning(600, 0, 400*time.Second)},
		{Name: "tikv-11-12: another user keeps them away", Cluster: returning(600, 0, time.Minute, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.Evicting = true
		})},
		{Name: "the same store is to be restarted again", Cluster: returning(600, 10, time.Minute, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Pod.Revision = "v1"
		})},
		{Name: "the rollout is called off", Cluster: returning(600, 10, time.Minute, func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.CurrentRevision = "v2" }).Rolled(tikv, 0, 1, 2)
		})},
		{Name: "scaling does not wait", Cluster: returning(600, 10, time.Minute, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 })},
		{Name: "the store is gone", Cluster: returning(600, 10, time.Minute, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.ID = 9
		})},
	})
}

// store changes the store that is to be removed.
func store(change func(m *state.Member)) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) { change(c.Member("t-tikv-3")) }
}

func TestTiKVRemove(t *testing.T) {
	absent := store(func(m *state.Member) { m.Database = state.Database{Presence: state.Absent} })
	be := func(s state.StoreState) func(c *plantest.Cluster) {
		return store(func(m *state.Member) { m.Database.State, m.Database.Healthy = s, s == state.StoreUp })
	}
	offline := func(c *plantest.Cluster) { c.Removing("t-tikv-3", time.Minute) }
	plantest.Table(t, "tikv-remove", []plantest.Case{
		{Name: "up", Cluster: in(tikv)},
		{Name: "evicting, leaders left", Cluster: in(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "evicting, none left", Cluster: in(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "tikv-11-42: evicting, while the rollout of the others ends", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 0, 1, 2, 3).Evicting("t-tikv-3", time.Minute, 3).Evicting("t-tikv-0", time.Minute, 0)
		})},
		{Name: "evicting, out of time", Cluster: in(tikv, func(c *plantest.Cluster) { c.Evicting("t-tikv-3", 5*time.Minute, 3) })},
		{Name: "disconnected", Cluster: in(tikv, be(state.StoreDisconnected), func(c *plantest.Cluster) { c.Seen.PD.UpStores-- })},
		{Name: "down", Cluster: in(tikv, be(state.StoreDown), func(c *plantest.Cluster) { c.Seen.PD.UpStores-- })},
		{Name: "disconnected, and it may serve, too few others up", Cluster: in(tikv, be(state.StoreDisconnected), func(c *plantest.Cluster) { c.Seen.PD.UpStores = 2 })},
		{Name: "disconnected, and its process does not run, too few others up", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-3")
			c.Seen.PD.UpStores = 2
		})},
		{Name: "PD has yet to notice that another one that leaves has no pod", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 2
			c.Member("t-tikv-2").Pod.Terminating = true
		})},
		{Name: "the same, and its pod is gone already", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 2
			c.Member("t-tikv-2").Pod = nil
		})},
		{Name: "PD has yet to notice that the process of another one that leaves has ended", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 2
			c.Member("t-tikv-2").Pod.Ready, c.Member("t-tikv-2").Pod.Started = false, time.Time{}
		})},
		{Name: "down, too few others", Cluster: in(tikv, be(state.StoreDown), func(c *plantest.Cluster) { c.Seen.PD.UpStores = 2 })},
		{Name: "down by PD, and it answers, too few others", Cluster: in(tikv, be(state.StoreDown), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.Answer = state.Answered
			c.Seen.PD.UpStores = 2
		})},
		{Name: "up, too few others", Cluster: in(tikv, func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 5 })},
		{Name: "offline", Cluster: in(tikv, offline)},
		{Name: "offline, called off", Cluster: in(tikv, offline, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 4 })},
		{Name: "offline, called off, to be restarted next", Cluster: in(tikv, offline, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 4
			c.Roll(tikv)
		})},
		{Name: "tombstone", Cluster: in(tikv, be(state.StoreTombstone))},
		{Name: "tombstone, evicting", Cluster: in(tikv, be(state.StoreTombstone), func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "tombstone, marked", Cluster: in(tikv, be(state.StoreTombstone), store(func(m *state.Member) { m.Claims[0].Marked = true }))},
		{Name: "tombstone, marked, a peer is down", Cluster: in(tikv, be(state.StoreTombstone), store(func(m *state.Member) { m.Claims[0].Marked = true }),
			func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-0") })},
		{Name: "tombstone, called off, and recorded", Cluster: in(tikv, be(state.StoreTombstone), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas, c.Seen.Removals = 4, []state.Removal{{StoreID: 4, Member: "t-tikv-3", Since: plantest.Now}}
		})},
		{Name: "tombstone, called off", Cluster: in(tikv, be(state.StoreTombstone), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 4 })},
		{Name: "tikv-11-1: unknown", Cluster: in(tikv, store(func(m *state.Member) { m.Database = state.Database{} }))},
		{Name: "not registered, has just started", Cluster: in(tikv, absent, store(func(m *state.Member) { m.Pod.Started = plantest.Now.Add(-time.Minute) }))},
		{Name: "not registered for long", Cluster: in(tikv, absent)},
		{Name: "not registered, does not run", Cluster: in(tikv, absent, store(func(m *state.Member) { m.Pod.Ready, m.Pod.Started = false, time.Time{} }))},
		{Name: "not registered, marked", Cluster: in(tikv, absent, store(func(m *state.Member) { m.Claims[0].Marked = true }))},
		{Name: "not registered, no pod", Cluster: in(tikv, absent, store(func(m *state.Member) { m.Pod = nil }))},
		{Name: "a peer is down", Cluster: in(tikv, func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-1") })},
		{Name: "tikv-11-1: PD is unknown", Cluster: in(tikv, func(c *plantest.Cluster) { c.PDUnknown() })},
	})
}

func TestTiDB(t *testing.T) {
	plantest.Table(t, "tidb", []plantest.Case{
		{Name: "restart", Cluster: roll(tidb)},
		{Name: "tidb-B22: a pod without the label that names its revision", Cluster: roll(tidb, func(c *plantest.Cluster) {
			c.Rolled(tidb, 1).Member("t-tidb-0").Pod.Revision = ""
		})},
		{Name: "remove", Cluster: in(tidb)},
		{Name: "remove, with a claim", Cluster: in(tidb, func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Claims = []state.Claim{{Name: "log-t-tidb-1"}}
		})},
		{Name: "scale out, PD is unknown", Cluster: out(func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "scale out, no store is up", Cluster: out(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-0", "t-tikv-1", "t-tikv-2", "t-tikv-3")
		})},
		{Name: "scale out, one store is up, and PD is not bootstrapped", Cluster: out(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-1", "t-tikv-2", "t-tikv-3")
			c.Seen.PD.Bootstrapped = false
		})},
		{Name: "scale out, a claim is left over", Cluster: out(func(c *plantest.Cluster) {
			m := c.Add(tidb)
			m.Database = state.Database{}
			m.Claims = []state.Claim{{Name: "log-t-tidb-2", Marked: true}}
		})},
	})
}

func out(change func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 2)
	c.Want(tidb).Replicas = 3
	change(c)
	return c
}

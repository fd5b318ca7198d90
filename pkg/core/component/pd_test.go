package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestQuorum: a member of PD goes only while the members that stay, here and in other Kubernetes
// clusters, have a quorum.
func TestQuorum(t *testing.T) {
	elsewhere := func(here, members, healthy int, leader string) *plantest.Cluster {
		c := plantest.New(here, 3, 1)
		lead(c, "")
		if c.Seen.PD.Leader = leader; leader == "t-pd-0" {
			lead(c, leader)
		}
		c.Seen.PD.Members, c.Seen.PD.Healthy = members, healthy
		return c
	}
	last := func(leader string) *plantest.Cluster {
		c := elsewhere(1, 4, 4, leader)
		c.Want(pd).Replicas = 0
		return c
	}
	both := func(leader string, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := elsewhere(2, 5, 5, "elsewhere")
		for _, change := range changes {
			change(c)
		}
		c.Seen.PD.Leader = leader
		c.Member("t-pd-1").Database.Leader = leader == "t-pd-1"
		return c
	}
	five := func(leader string, restarted ...int) *plantest.Cluster {
		c := plantest.New(5, 3, 1).Roll(pd).Rolled(pd, restarted...)
		lead(c, leader)
		return c
	}
	none := func(c *plantest.Cluster) { c.Want(pd).Replicas = 0 }
	down := func(names ...string) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Down(time.Hour, names...) }
	}
	plantest.Waits(t, "quorum", []plantest.Case{
		{Name: "restart, two are here and the third is down", Cluster: elsewhere(2, 3, 2, "t-pd-0").Roll(pd)},
		{Name: "removal, of five only three are healthy", Cluster: in(pd, func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 5, 3 })},
		{Name: "removal, of six four are healthy", Cluster: in(pd, func(c *plantest.Cluster) { c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 4 })},
		{Name: "removal of the last one here, others stay elsewhere", Cluster: last("elsewhere")},
		{Name: "removal of the last one here, which leads others elsewhere", Cluster: last("t-pd-0")},
		{Name: "removal of both here, the lower one is not healthy", Cluster: both("elsewhere", none, down("t-pd-0"))},
		{Name: "removal of both here, the upper one leads others elsewhere", Cluster: both("t-pd-1", none)},
		{Name: "one is given up, the other one here is not healthy either", Cluster: both("elsewhere", down("t-pd-0", "t-pd-1"), func(c *plantest.Cluster) {
			c.Want(pd).Failures = []topology.Failure{{Member: "t-pd-1", ID: c.Member("t-pd-1").Database.ID, Created: plantest.Now.Add(-time.Minute)}}
		})},
		{Name: "PD has removed it, and has no quorum", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pd-0")
			c.Seen.PD.Members, c.Seen.PD.Healthy = 4, 1
			m := c.Member("t-pd-2")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
		})},
		{Name: "removal of the only member", Cluster: func() *plantest.Cluster {
			c := plantest.New(1, 3, 1)
			c.Want(pd).Replicas = 0
			return c
		}()},
		{Name: "removal of one that never joined the only member", Cluster: func() *plantest.Cluster {
			c := plantest.New(2, 3, 1)
			c.Want(pd).Replicas, c.Seen.PD.Members, c.Seen.PD.Healthy = 1, 1, 1
			c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
			return c
		}()},
		{Name: "restart of the leader, the readiness probe of the others is wrong", Cluster: roll(pd, func(c *plantest.Cluster) {
			lead(c, "t-pd-2")
			for _, name := range []string{"t-pd-0", "t-pd-1"} {
				m := c.Member(name)
				m.Pod.Ready, m.Database.Answer = false, state.Answered
			}
		})},
		{Name: "restart of the leader, a member answers that does not run by the report of Kubernetes", Cluster: roll(pd, func(c *plantest.Cluster) {
			lead(c, "t-pd-2")
			m := c.Member("t-pd-0")
			m.Pod.Ready, m.Pod.Started, m.Database.Answer = false, time.Time{}, state.Answered
		})},
		{Name: "restart of another one than the leader, one was restarted", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 2)
			lead(c, "t-pd-0")
		})},
		{Name: "restart of the leader, one was restarted", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 2)
			lead(c, "t-pd-1")
		})},
		{Name: "restart of the leader, two were restarted", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 1, 2)
			lead(c, "t-pd-0")
		})},
		{Name: "restart of another one than the leader, two of five were restarted", Cluster: five("t-pd-0", 3, 4)},
		{Name: "restart of another one than the leader, one of five was restarted", Cluster: five("t-pd-2", 4)},
		{Name: "restart of another one than the leader, the one that was restarted does not serve", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 2).Member("t-pd-2").Database.Healthy = false
			lead(c, "t-pd-0")
		})},
		{Name: "restart, PD is led in another Kubernetes cluster", Cluster: roll(pd, func(c *plantest.Cluster) {
			c.Rolled(pd, 2).Member("t-pd-0").Database.Leader = false
			c.Seen.PD.Leader = "elsewhere"
		})},
		{Name: "removal, only the member itself answers", Cluster: in(pd, func(c *plantest.Cluster) {
			d := c.Member("t-pd-2").Database
			c.PDUnknown().Member("t-pd-2").Database = d
		})},
	})
}

// TestMemberGivenUp: a member that PD does not list is not removed from PD. What is about to go
// does not lead.
func TestMemberGivenUp(t *testing.T) {
	plantest.Table(t, "member-given-up", []plantest.Case{
		{Name: "its claims are marked, and PD does not list it", Cluster: in(pd, func(c *plantest.Cluster) {
			m := c.Member("t-pd-2")
			m.Claims[0].Marked, m.Database = true, state.Database{}
		})},
		{Name: "it leads, and the next one is to go as well", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 1
			c.Roll(pd).Rolled(pd, 1, 2)
			lead(c, "t-pd-2")
		})},
		{Name: "it leads, and of those that stay one has been restarted", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Roll(pd).Rolled(pd, 1, 2)
			lead(c, "t-pd-2")
		})},
	})
}

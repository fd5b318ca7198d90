package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestTiFlashGivenUp: a store whose data was given up leaves PD only where the copies that tables ask for have another
// place. The claims are kept until then.
func TestTiFlashGivenUp(t *testing.T) {
	given := func(changes ...func(c *plantest.Cluster, m *state.Member)) *plantest.Cluster {
		c := plantest.NewFlash(3, 3, 4, 2).Down(time.Hour, "t-tiflash-1")
		m := c.Member("t-tiflash-1")
		m.Database.State = state.StoreDown
		c.Want(tiflash).Replicas = 3
		c.Want(tiflash).Failures = []topology.Failure{{Member: m.Name, ID: m.Database.ID, Discarded: true, Created: plantest.Now.Add(-time.Hour)}}
		for _, change := range changes {
			change(c, m)
		}
		return c
	}
	rules := func(replicas ...int) func(*plantest.Cluster, *state.Member) {
		return func(c *plantest.Cluster, _ *state.Member) { tables(replicas...)(c) }
	}
	in := func(s state.StoreState) func(*plantest.Cluster, *state.Member) {
		return func(_ *plantest.Cluster, m *state.Member) { m.Database.State = s }
	}
	plantest.Table(t, "tiflash-given-up", []plantest.Case{
		{Name: "it is Down, and tables ask for two replicas", Cluster: given(rules(2))},
		{Name: "it is Down, and tables ask for four", Cluster: given(rules(4))},
		{Name: "it is Down, and rules are not read", Cluster: given(func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.Placement.Unread = "PD does not answer" })},
		{Name: "it is Down, and PD takes no store offline", Cluster: given(rules(2), func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.MaxReplicas = 7 })},
		{Name: "it is Down, and PD has just got another leader", Cluster: given(rules(2), func(c *plantest.Cluster, _ *state.Member) {
			c.Seen.PD.LeaderSince = plantest.Now.Add(-time.Second)
		})},
		{Name: "it is offline, and copies are left", Cluster: given(in(state.StoreOffline), rules(2))},
		{Name: "it is a tombstone", Cluster: given(in(state.StoreTombstone), rules(2))},
	})
}

// TestTiFlashSuspended: what a removal that was begun has left is settled before the pods go. Only PD knows whose data
// is on a claim.
func TestTiFlashSuspended(t *testing.T) {
	suspended := func(change func(c *plantest.Cluster, m *state.Member)) *plantest.Cluster {
		c := flash(func(c *plantest.Cluster) { c.Want(tiflash).Suspend = true })
		change(c, c.Member("t-tiflash-2"))
		return c
	}
	plantest.Table(t, "tiflash-suspended", []plantest.Case{
		{Name: "a store is a tombstone, and its claim is not marked", Cluster: suspended(func(c *plantest.Cluster, m *state.Member) {
			c.Want(tiflash).Replicas = 2
			m.Database.State, m.Database.Healthy = state.StoreTombstone, false
		})},
		{Name: "a store stays, and its claim is marked", Cluster: suspended(func(_ *plantest.Cluster, m *state.Member) { m.Claims[0].Marked = true })},
		{Name: "a store that we took offline stays", Cluster: suspended(func(c *plantest.Cluster, m *state.Member) { c.Removing(m.Name, time.Minute) })},
		{Name: "a removal is recorded that PD was never asked for", Cluster: suspended(func(c *plantest.Cluster, m *state.Member) {
			c.Removing(m.Name, time.Minute)
			m.Database.State, m.Database.Healthy = state.StoreUp, true
		})},
		{Name: "nothing is left", Cluster: suspended(func(*plantest.Cluster, *state.Member) {})},
	})
}

// TestTiFlashFailoverPeriod: a store is given up five minutes after PD takes it for Down, and not before.
func TestTiFlashFailoverPeriod(t *testing.T) {
	for ago, want := range map[time.Duration]bool{34 * time.Minute: false, 36 * time.Minute: true} {
		c := flash(func(c *plantest.Cluster) {
			c.Down(ago, "t-tiflash-1").Member("t-tiflash-1").Database.State = state.StoreDown
			c.Member("t-tiflash-1").Database.Since = plantest.Now.Add(-ago)
			c.Seen.PD.MaxStoreDown, c.Policy.Failover = 30*time.Minute, plan.Failing{Members: true}
		}, tables(2))
		given := false
		for _, s := range c.Decide().Steps {
			_, is := s.(step.RecordFailure)
			given = given || is
		}
		if given != want {
			t.Errorf("after %s: given up %t", ago, given)
		}
	}
}

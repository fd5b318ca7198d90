package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLimitsOfRecall: a pod is not brought back if its data is gone or was given up. The pod would
// start without data beside members that need that data.
func TestLimitsOfRecall(t *testing.T) {
	above := func(c *plantest.Cluster, change func(m *state.Member)) *plantest.Cluster {
		k := tikv
		if c.Seen.PD.Leaderless {
			k = pd
		}
		change(c.Add(k))
		return c
	}
	unled := func() *plantest.Cluster {
		return leaderless(time.Hour).Set(pd, func(s *state.Set) { s.UpdateRevision = "v1" })
	}
	plantest.Waits(t, "limits-of-recall", []plantest.Case{
		{Name: "PD has long counted on a store that has no claims", Cluster: above(with(), func(m *state.Member) {
			m.Claims, m.Database.State, m.NotServing = nil, state.StoreDown, plantest.Now.Add(-time.Hour)
		})},
		{Name: "PD has no leader, and a voter without a pod has no claims", Cluster: above(unled(), func(m *state.Member) {
			m.Claims, m.Database = nil, state.Database{}
		})},
		{Name: "the same, and it has claims", Cluster: above(unled(), func(m *state.Member) { m.Database = state.Database{} })},
		{Name: "PD has no leader, and a store was removed", Cluster: func() *plantest.Cluster {
			c := unled()
			m := c.Add(tikv)
			m.Database, m.Claims[0].Marked = state.Database{}, true
			return c
		}()},
	})
}

// TestLimitsOfRollout: cases in which one step or one condition too many would do harm. It would
// take down a member that serves, delete data, or wait for ever.
func TestLimitsOfRollout(t *testing.T) {
	const m = time.Minute
	unserved := func(c *plantest.Cluster) { c.Seen.PD.Leader = "" }
	manual := func(s *state.Set) { s.Manual = true }
	plantest.Waits(t, "limits-of-rollout", []plantest.Case{
		{Name: "a store does not run with the old revision, and PD does not serve", Cluster: rollTiKV(unserved, func(c *plantest.Cluster) {
			c.Down(m, "t-tikv-3")
		})},
		{Name: "pods are the user's to replace, one is stuck, and PD does not serve", Cluster: rollTiKV(unserved, func(c *plantest.Cluster) {
			c.Set(tikv, manual).Down(m, "t-tikv-1")
		})},
		{Name: "pods are the user's to replace, and one serves though it is not ready", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Set(tikv, manual)
			unready(c.Member("t-tikv-0"), 5*m).Database.Answer = state.Answered
		})},
		{Name: "PD does not hear from a store that the partition has reached, and its leaders have moved", Cluster: rollTiKV(func(c *plantest.Cluster) {
			silent(c, "t-tikv-3", time.Hour)
			c.Evicting("t-tikv-3", m, 0).Set(tikv, func(s *state.Set) { s.Partition = 3 })
		})},
		{Name: "stores are to be restarted and removed, one fails, and PD has pods to replace", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Roll(pd).Down(time.Hour, "t-tikv-0").Want(tikv).Replicas = 3
		})},
		{Name: "one fails with the old revision, and another one waits for it in order", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true }).Down(time.Hour, "t-tikv-0", "t-tikv-1")
			c.Member("t-tikv-1").Pod = nil
		})},
		{Name: "a store is evicted for its restart, one more is added, and another one is not given up", Cluster: rollTiKV(func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", m, 0).Down(time.Hour, "t-tikv-0")
			c.Want(tikv).Replicas, c.Want(tikv).MaxFailures = 5, 0
			c.Policy.Failover.Members, c.Policy.Failover.Now = true, true
		})},
		{Name: "a tombstone that is not wanted, and another store that PD does not know waits for it in order", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true }).Down(time.Hour, "t-tikv-2", "t-tikv-3")
			c.Want(tikv).Replicas = 2
			tombstone, queued := c.Member("t-tikv-2"), c.Member("t-tikv-3")
			tombstone.Database.State, tombstone.Claims[0].Marked = state.StoreTombstone, true
			queued.Pod, queued.Claims, queued.Database = nil, nil, state.Database{Presence: state.Absent}
		})},
		{Name: "PD cannot remove a voter that was given up, and another one waits for it in order", Cluster: with(func(c *plantest.Cluster) {
			c.Set(pd, func(s *state.Set) { s.Ordered = true }).Down(time.Hour, "t-pd-1", "t-pd-2")
			given(c, "t-pd-1", time.Hour)
			c.Member("t-pd-2").Pod = nil
		})},
		{Name: "TiKV was suspended, and PD does not serve", Cluster: with(gone(tikv, tidb), unserved, func(c *plantest.Cluster) {
			c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].Database = state.Database{}
			}
		})},
		{Name: "the first pod has no controller, the second one has another", Cluster: with(func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Pod.Controller = "StatefulSet t-tikv of apps.pingcap.com/v1"
			c.Want(tikv).Replicas = 5
		})},
	})
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLimitsOfFailover: when a record of a failover ends, and when a member gets new data and no
// replacement. Besides, what a person is told who waits.
func TestLimitsOfFailover(t *testing.T) {
	const m = time.Minute
	// removed makes a voter one that PD has removed, whose process has run.
	removed := func(c *plantest.Cluster, name string) *state.Member {
		v := c.Member(name)
		v.Database = state.Database{Presence: state.Absent}
		c.Seen.PD.Members--
		return v
	}
	// usedUp returns a PD with as many failovers as it may have, that has removed another voter.
	usedUp := func(ago time.Duration) *plantest.Cluster {
		c := plantest.New(5, 4, 2)
		lost(c, time.Hour, "t-pd-1")
		given(c, "t-pd-1", time.Hour, deleted)
		removed(c, "t-pd-1").Claims[0].UID = "new"
		lost(c, ago, "t-pd-2")
		removed(c, "t-pd-2")
		c.Want(pd).MaxFailures, c.Policy.Failover.Members = 1, true
		return c
	}
	plantest.Waits(t, "limits-of-failover", []plantest.Case{
		{Name: "PD has removed a voter that is not wanted any more, and its claims are marked", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			given(c, "t-pd-2", time.Hour)
			removed(c, "t-pd-2").Claims[0].Marked = true
			c.Want(pd).Replicas = 2
		})},
		{Name: "a voter that was given up is not wanted any more, and PD lists it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			given(c, "t-pd-2", time.Hour)
			c.Want(pd).Replicas = 2
		})},
		{Name: "a member that does not exist was given up", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Failures = []topology.Failure{{Member: "t-tikv-9", ID: 10}}
		})},
		{Name: "a voter that was given up votes as a new one, and its pod is not ready", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-pd-1", m)
			unready(c.Member("t-pd-1"), 5*m).Database.ID = 4711
		})},
		{Name: "a voter that was given up answers, and PD has missed a ping", Cluster: with(func(c *plantest.Cluster) {
			given(c, "t-pd-1", m)
			c.Member("t-pd-1").Database.Healthy, c.Member("t-pd-1").Database.Answer = false, state.Answered
			c.Seen.PD.Healthy--
		})},
		{Name: "PD has removed a voter, no more may be given up, and it is not due", Cluster: usedUp(3 * m)},
		{Name: "the same, and it is due", Cluster: usedUp(5 * m)},
		{Name: "PD has removed the replacement of a voter", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Hour, deleted)
			removed(c, "t-pd-1").Claims[0].UID = "new"
			replacement(c, pd)
			lost(c, time.Hour, "t-pd-3")
			c.Seen.PD.Members, c.Seen.PD.Healthy = 3, 2
			removed(c, "t-pd-3")
		})},
		{Name: "a member that is not wanted is down, and others may be given up now", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-3")
			c.Want(tikv).Replicas, c.Policy.Failover.Now = 3, true
		})},
		{Name: "the data of a store is to be discarded, a rollout waits for it, and the evidence is new", Cluster: failing(func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			unready(silent(c.Roll(tikv), "t-tikv-1", m), m)
			c.Policy.Failover.Discard = []string{"t-tikv-1"}
		})},
		{Name: "the claim of a store that was given up is going, and its regions leave", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Seen.PD.UpStores++ // it was not up before
			c.Removing("t-tikv-1", m).Member("t-tikv-1").Claims[0].Terminating = true
		})},
		{Name: "a store that was given up serves between two crashes, and a rollout waits for it", Cluster: crashed(with(func(c *plantest.Cluster) {
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Roll(tikv)
		}), "t-tikv-1", 6, 5*m, 5*time.Second, 160*time.Second, 5*time.Second)},
	})
}

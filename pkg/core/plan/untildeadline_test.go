package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestUntilDeadline: a member that other gates wait for, and that will be given up, has one gate.
// It says what happens when, and what a person can do.
func TestUntilDeadline(t *testing.T) {
	now := func(c *plantest.Cluster) { c.Policy.Failover.Now = true }
	needsNewRevision := func(c *plantest.Cluster) {
		c.Roll(tikv)
		lost(c, 20*time.Minute, "t-tikv-1")
	}
	plantest.Waits(t, "until-deadline", []plantest.Case{
		{Name: "all pods of a component start", Cluster: failing(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tidb-0", "t-tidb-1", "t-tidb-2")
			for _, name := range []string{"t-tidb-0", "t-tidb-1", "t-tidb-2"} {
				c.Member(name).Pod.Node = "n1"
			}
		})},
		{Name: "with the old template, and due later", Cluster: failing(needsNewRevision)},
		{Name: "with the old template, and not to be given up", Cluster: failing(needsNewRevision, now, func(c *plantest.Cluster) {
			c.Want(tikv).MaxFailures = 0
		})},
		{Name: "the pod is Ready, the database says otherwise", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 31*time.Minute, "t-tikv-1")
			p := c.Member("t-tikv-1").Pod
			p.Ready, p.Made = true, plantest.Now.Add(-99*time.Hour)
			c.Member("t-tikv-1").Database.Answer = state.Refused
		})},
		{Name: "its claim is going, which is another thing", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 31*time.Minute, "t-tikv-1")
			c.Member("t-tikv-1").Claims[0].Terminating = true
		})},
		{Name: "others go on beside it", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 31*time.Minute, "t-tikv-1")
			c.Roll(tidb).Want(tikv).Replicas = 5
		})},
		{Name: "PD cannot remove it, nor does it serve", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pd-1", "t-pd-2").Seen.PD.Healthy = 2
			given(c, "t-pd-1", time.Hour)
		})},
		{Name: "PD does not speak of who was given up", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Member("t-tikv-1").Database = state.Database{}
		})},
	})
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestDiscard: while the data of a store is to be discarded and is still there, a gate says why.
func TestDiscard(t *testing.T) {
	asked := func(change func(c *plantest.Cluster)) *plantest.Cluster {
		return failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Policy.Failover.Discard = []string{"t-tikv-1"}
			change(c)
		})
	}
	plantest.Waits(t, "discard", []plantest.Case{
		{Name: "by a process that has just begun to look", Cluster: asked(func(c *plantest.Cluster) {
			c.Seen.PD.LeaderSince = plantest.Now
		})},
		{Name: "only PD says that it is down", Cluster: asked(func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Pod.Ready, c.Member("t-tikv-1").Pod.Started = true, plantest.Now.Add(-time.Hour)
		})},
		{Name: "it is back", Cluster: asked(func(c *plantest.Cluster) {
			*c.Member("t-tikv-1") = *plantest.New(3, 4, 2).Member("t-tikv-1")
		})},
	})
}

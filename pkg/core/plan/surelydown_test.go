package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRemovalNeedsEvidence: a voter that was given up may have come back. It is removed from PD
// only on evidence of two kinds.
func TestRemovalNeedsEvidence(t *testing.T) {
	plantest.Waits(t, "removal-needs-evidence", []plantest.Case{
		{Name: "PD member has just come back, and PD's health check missed it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Minute)
			m := c.Member("t-pd-1")
			m.Pod.Ready, m.Pod.Since, m.Pod.Started = true, plantest.Now.Add(-time.Second), plantest.Now.Add(-10*time.Second)
		})},
		{Name: "PD member runs since a minute, and no report says that it serves", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Minute, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			c.Member("t-pd-1").Pod.Started = plantest.Now.Add(-time.Minute)
		})},
		{Name: "PD member runs since an hour, and no report says that it serves", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Second)
			c.Member("t-pd-1").Pod.Started = plantest.Now.Add(-time.Hour)
		})},
		{Name: "PD member does not run since a moment", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Second, "t-pd-1")
			given(c, "t-pd-1", time.Second)
		})},
	})
}

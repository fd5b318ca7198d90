package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// late makes a member one that PD was bootstrapped without, and whose pod has not run yet.
func late(c *plantest.Cluster, name string) {
	lost(c, time.Hour, name)
	m := c.Member(name)
	m.Database.Unstarted, m.Pod.Ran = true, false
}

// TestFirstStart: the run waits for an initial member that has yet to start for the first time. A
// member that was added and has not started holds back all others.
func TestFirstStart(t *testing.T) {
	plantest.Table(t, "first-start", []plantest.Case{
		{Name: "a PD member that was added, and whose pod has not run", Cluster: failing(func(c *plantest.Cluster) {
			late(c, "t-pd-2")
			c.Member("t-pd-2").Database.Name = ""
		})},
		{Name: "a first member of PD is late", Cluster: failing(func(c *plantest.Cluster) { late(c, "t-pd-0") })},
		{Name: "a first member of PD is late, now", Cluster: failing(func(c *plantest.Cluster) {
			late(c, "t-pd-0")
			c.Policy.Failover.Now = true
		})},
		{Name: "a first member of PD crashes instead of coming in", Cluster: failing(func(c *plantest.Cluster) {
			late(c, "t-pd-0")
			c.Member("t-pd-0").Pod.Ran = true
		})},
	})
}

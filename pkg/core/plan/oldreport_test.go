package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOldReportFreesNothing: a store does not run by the status of its pod. The store restarts at once only where its
// own port says the same, because a broken network can hide a host from Kubernetes and PD.
func TestOldReportFreesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*plantest.Cluster, *state.Member)
		free bool
	}{
		"nothing listens on its port":     {func(_ *plantest.Cluster, m *state.Member) { m.Database.Answer = state.Refused }, true},
		"PD has not heard of it":          {func(*plantest.Cluster, *state.Member) {}, false},
		"PD has just elected a leader":    {func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.LeaderSince = plantest.Now.Add(-2 * time.Second) }, false},
		"PD has no leader at this moment": {func(c *plantest.Cluster, _ *state.Member) { c.Seen.PD.LeaderSince = time.Time{} }, false},
		"PD does not say anything of it":  {func(_ *plantest.Cluster, m *state.Member) { m.Database = state.Database{Answer: state.NoAnswer} }, false},
		"its pod has no address":          {func(_ *plantest.Cluster, m *state.Member) { m.Pod.Addressed, m.Database = false, state.Database{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 1).Roll(topology.TiKV).Down(10*time.Second, "t-tikv-2")
			m := cluster.Member("t-tikv-2")
			m.Pod.Addressed, m.Database.Answer = true, state.NoAnswer
			c.set(cluster, m)
			if got := strings.Contains(cluster.Text(), "restart t-tikv-2"); got != c.free {
				t.Errorf("it restarts: %v\n%s", got, cluster.Text())
			}
		})
	}
}

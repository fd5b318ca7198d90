package plan_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestClaimsRetained: where Kubernetes would delete the claims of pods that go, nothing is taken from PD for that.
func TestClaimsRetained(t *testing.T) {
	scaled := func(s *state.Set) { s.DeletesWhenScaled, s.Writer = true, "helm" }
	deleted := func(s *state.Set) { s.DeletesWhenDeleted = true }
	for name, c := range map[string]struct {
		kind    topology.Kind
		set     func(*state.Set)
		want    func(*plantest.Cluster)
		blocked string
	}{
		"a scale-in of TiKV":          {topology.TiKV, scaled, func(c *plantest.Cluster) { c.Want(topology.TiKV).Replicas = 3 }, "whenScaled: Delete (written last by helm)"},
		"a scale-in of PD":            {topology.PD, scaled, func(c *plantest.Cluster) { c.Want(topology.PD).Replicas = 1 }, "whenScaled"},
		"a scale-in of TiDB":          {topology.TiDB, scaled, func(c *plantest.Cluster) { c.Want(topology.TiDB).Replicas = 1 }, "whenScaled"},
		"a scale-out":                 {topology.TiKV, scaled, func(c *plantest.Cluster) { c.Want(topology.TiKV).Replicas = 5 }, ""},
		"a rollout":                   {topology.TiKV, scaled, func(c *plantest.Cluster) { c.Roll(topology.TiKV) }, ""},
		"a suspension":                {topology.TiDB, deleted, func(c *plantest.Cluster) { c.Want(topology.TiDB).Suspend = true }, "whenDeleted: Delete"},
		"a suspension, for scale-ins": {topology.TiDB, scaled, func(c *plantest.Cluster) { c.Want(topology.TiDB).Suspend = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 4, 2)
			cluster.Set(c.kind, c.set)
			c.want(cluster)
			p := cluster.Decide()
			text := plantest.Text(p)
			if got := strings.Contains(text, "persistentVolumeClaimRetentionPolicy."+c.blocked); got != (c.blocked != "") {
				t.Errorf("%s", text)
			}
			if c.blocked != "" && (p.Outcome != plan.Blocked || len(p.Steps) > 0) {
				t.Errorf("%s", text)
			}
		})
	}
}

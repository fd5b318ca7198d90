package plan_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestSpareStranded: a spare member that could not leave again is refused before it is added, with the command that helps.
func TestSpareStranded(t *testing.T) {
	cluster := spare(replaced(plantest.New(3, 3, 2), "t-tikv-1"))
	refusals := func(kinds ...topology.Kind) []plan.Gate {
		return plan.SpareStranded(component.Profiles(), cluster.Wanted, cluster.Seen, kinds)
	}
	if got := refusals(topology.TiKV); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	cluster.Set(topology.TiKV, func(s *state.Set) { s.DeletesWhenScaled = true })
	const want = "so that the spare member could not leave again"
	got := refusals(topology.TiKV)
	if len(got) != 1 || !strings.Contains(got[0].String(), want) || !strings.Contains(got[0].Remedy.Line(""), "kubectl patch statefulset t-tikv") {
		t.Errorf("%+v", got)
	}
	if got := refusals(topology.TiFlash); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

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

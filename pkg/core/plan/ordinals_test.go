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

// A StatefulSet of any component whose pods are not numbered from 0 stops the whole cluster. No step is taken, no claim
// is marked, and nothing is written before a person has corrected the field.
func TestOrdinalsStart(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV, topology.TiDB} {
		c := plantest.New(3, 4, 2)
		c.Set(k, func(s *state.Set) { s.Start = 1 })
		c.Want(topology.TiDB).Replicas, c.Want(topology.TiKV).Replicas = 3, 5
		p := c.Decide()
		name := c.Wanted.Cluster.SetName(k)
		if p.Outcome != plan.Blocked || len(p.Steps)+len(p.Upkeep) > 0 || len(p.Gates) != 1 {
			t.Fatalf("%s: %s", k, plantest.Text(p))
		}
		want := k.Title() + ": numbering of the pods not supported: StatefulSet " + name + " has spec.ordinals.start 1, and only 0 is supported"
		if got := p.Gates[0].String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if help := p.Gates[0].Remedy.Line(""); !strings.Contains(help, "kubectl patch statefulset "+name) {
			t.Errorf("what to do: %s", help)
		}
		if gates := plan.Refusals(component.Profiles(), c.Wanted, c.Seen); len(gates) != 1 || gates[0].Reason != plan.OrdinalsSupported {
			t.Errorf("a command is not refused: %v", gates)
		}
	}
}

package plan_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan/plantest"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestFinishedRemoval: the record of a removal is deleted when the removal is over, also
// where the cluster has no member of that name. The step names TiKV as its component only
// where the name is one of a TiKV store.
func TestFinishedRemoval(t *testing.T) {
	for member, want := range map[string]string{"t-tikv-9": "tikv", "t-tiflash-0": ""} {
		c := with(func(c *plantest.Cluster) { c.Seen.Removals = []state.Removal{{StoreID: 99, Member: member}} })
		p := plan.Decide(component.Profiles(), c.Policy, c.Wanted, c.Seen)
		if len(p.Steps) != 1 {
			t.Fatalf("%s: %s", member, plantest.Text(p))
		}
		if kind, name := p.Steps[0].Target(); string(kind) != want || name != member {
			t.Errorf("%s: the step is for %q of %q", member, name, kind)
		}
	}
}

package plan_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestFinishedRemoval: the record of a removal is deleted when the removal is over. So it is where
// the cluster has no member of that name. The step names TiKV as its component only where the name
// is one of a TiKV store.
func TestFinishedRemoval(t *testing.T) {
	for member, want := range map[string]string{"t-tikv-9": "tikv", "t-pump-0": "", "t-pd-9": ""} {
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

// TestRecordsOfRemovals: a record is deleted only where PD shows that the removal is over. While PD
// does not list its stores, or nothing is known of the member, the removal may still go on.
func TestRecordsOfRemovals(t *testing.T) {
	const evicted, removed = "allow region leaders on t-tikv-8", "conclude the removal of store 99 of t-tikv-9"
	for name, tc := range map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"an eviction and a removal of stores that are gone": {func(*plantest.Cluster) {}, "act\n" + evicted + "\n" + removed},
		"no evictions": {func(c *plantest.Cluster) { c.Seen.Evictions = nil }, "act\n" + removed},
		"PD does not list its stores": {func(c *plantest.Cluster) {
			c.Seen.Evictions, c.Seen.PD.Bootstrapped = nil, false
			c.Wanted.Groups = c.Wanted.Groups[:2]
		}, "converged"},
		"nothing is known of the member": {func(c *plantest.Cluster) {
			c.Seen.Evictions, c.Seen.Removals[0].Member = nil, "t-tikv-3"
			c.Member("t-tikv-3").Database = state.Database{}
		}, "blocked\n! t-tikv-3 not serving: unknown, not asked"},
	} {
		c := with(func(c *plantest.Cluster) {
			c.Seen.Evictions = []state.Eviction{{StoreID: 98, Member: "t-tikv-8"}}
			c.Seen.Removals = []state.Removal{{StoreID: 99, Member: "t-tikv-9"}}
		}, tc.change)
		if got := plantest.Text(plan.Decide(component.Profiles(), c.Policy, c.Wanted, c.Seen)); got != tc.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, tc.want)
		}
	}
}

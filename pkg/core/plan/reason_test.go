package plan_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestReasons: each reason is in the table once, with its meaning and the state while the gate does
// not hold.
func TestReasons(t *testing.T) {
	seen := map[plan.Reason]bool{}
	for _, r := range plan.Reasons() {
		if r.Text == "" || r.State == "" || seen[r.Reason] {
			t.Errorf("%+v", r)
		}
		seen[r.Reason] = true
	}
	source, err := os.ReadFile("reason.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^\t\w+ +Reason = "(\w+)"$`).FindAllSubmatch(source, -1)
	if len(named) != len(seen) {
		t.Errorf("%d reasons are named, and %d are in the table", len(named), len(seen))
	}
	for _, n := range named {
		if r := plan.Reason(n[1]); !seen[r] {
			t.Errorf("%s is not in the table, so that its gate has no text", r)
		}
	}
}

// TestGateLines: a gate's line says what does not hold, and, when it has passed, what holds.
func TestGateLines(t *testing.T) {
	for _, tt := range []struct {
		gate          plan.Gate
		until, passed string
	}{
		{
			plan.Gate{Component: topology.PD, Member: "basic-pd-0", Reason: plan.MemberServing, Want: "serving", Observed: "ContainerCreating"},
			"basic-pd-0 not serving: ContainerCreating", "basic-pd-0 serving",
		},
		{
			plan.Gate{Component: topology.PD, Member: "basic-pd-2", Reason: plan.MemberRemoved, Want: "removed from PD"},
			"basic-pd-2 not removed from PD", "basic-pd-2 removed from PD",
		},
		{
			plan.Gate{Component: topology.TiKV, Member: "basic-tikv-1", Reason: plan.LeadersEvicted, Want: "leaders evicted", Observed: "12 leaders left"},
			"basic-tikv-1: leaders not evicted: 12 leaders left", "basic-tikv-1: leaders evicted",
		},
		{
			plan.Gate{Component: topology.TiKV, Member: "basic-tikv-2", Reason: plan.EnoughStores, Want: "enough other stores", Observed: "needs 3 other stores, has 2"},
			"basic-tikv-2: needs 3 other stores, has 2", "basic-tikv-2: enough other stores",
		},
		{
			plan.Gate{Component: topology.TiKV, Member: "basic-tikv-2", Reason: plan.EnoughStores, Want: "enough other stores"},
			"basic-tikv-2: not enough other stores", "basic-tikv-2: enough other stores",
		},
		{
			plan.Gate{Component: topology.TiKV, Reason: plan.PDServing, Want: "PD serving", Observed: "PD is unreachable"},
			"TiKV: PD not serving: PD is unreachable", "TiKV: PD serving",
		},
		{
			plan.Gate{Reason: plan.ClusterBeingDeleted, Want: "the TidbCluster is not being deleted"},
			"the TidbCluster is being deleted", "the TidbCluster is not being deleted",
		},
	} {
		if until, passed := tt.gate.String(), tt.gate.Passed(); until != tt.until || passed != tt.passed {
			t.Errorf("got %q and %q, want %q and %q", until, passed, tt.until, tt.passed)
		}
	}
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan/plantest"
)

func TestCasualties(t *testing.T) {
	c := failing(func(c *plantest.Cluster) {
		lost(c, time.Hour, "t-pd-1")
		lost(c, 31*time.Minute, "t-tikv-1")
		lost(c, time.Minute, "t-tidb-0")
		given(c, "t-tidb-0", time.Minute)
		lost(c, time.Minute, "t-tidb-2")
		c.Member("t-tidb-2").Pod.Node = ""
	})
	got := map[string]plan.Casualty{}
	for _, k := range plan.Casualties(component.Profiles(), c.Policy, c.Wanted, c.Seen) {
		got[k.Member.Name] = k
	}
	if len(got) != 4 {
		t.Fatalf("got %d: %+v", len(got), got)
	}
	if k := got["t-pd-1"]; k.Spared != "" || !k.Since.Equal(plantest.Now.Add(-time.Hour)) || !k.Due.Equal(plantest.Now.Add(-55*time.Minute)) {
		t.Errorf("%+v", k)
	}
	if k := got["t-tikv-1"]; k.Spared != "" || !k.Due.Equal(plantest.Now.Add(4*time.Minute)) {
		t.Errorf("%+v", k)
	}
	if k := got["t-tidb-0"]; k.Record == nil || k.Trouble == "" || k.Spared != "" || !k.Due.IsZero() {
		t.Errorf("%+v", k)
	}
	if k := got["t-tidb-2"]; k.Spared == "" {
		t.Errorf("%+v", k)
	}
}

package forecast_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestNamed: members that a user has named restart once, one after another, and no others do.
func TestNamed(t *testing.T) {
	c := plantest.New(3, 3, 2)
	for _, name := range []string{"t-pd-0", "t-tikv-1", "t-tidb-0"} {
		m := c.Member(name)
		c.Want(m.Kind).Restarts = map[string]topology.MemberRestart{name: {Pod: m.Pod.UID}}
	}
	f := of(c)
	want := "move PD leader from t-pd-0 to t-pd-1, restart t-pd-0, evict region leaders from t-tikv-1, restart t-tikv-1, " +
		"allow region leaders on t-tikv-1, restart t-tidb-0"
	if got := strings.Join(texts(f), ", "); got != want || f.Last.Outcome != plan.Converged {
		t.Errorf("%s; %s", got, f.Last.Outcome)
	}
}

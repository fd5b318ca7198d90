package forecast_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
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

// TestServersWithNewVolumes: of servers that get smaller volumes one restarts after the other. The StatefulSet is made again
// once, before that.
func TestServersWithNewVolumes(t *testing.T) {
	const gi = 1 << 30
	c := plantest.New(3, 3, 2)
	g := c.Want(topology.TiDB)
	g.Volumes, g.Replacements = []topology.Volume{{Name: "tidb-log", Size: gi}}, map[string]topology.MemberReplacement{}
	c.Set(topology.TiDB, func(s *state.Set) { s.Volumes = map[string]state.ClaimTemplate{"tidb-log": {Size: 2 * gi}} })
	for _, name := range []string{"t-tidb-0", "t-tidb-1"} {
		m := c.Member(name)
		m.Claims = []state.Claim{{Name: "tidb-log-" + name, UID: name, Template: "tidb-log", Requested: 2 * gi, Capacity: 2 * gi, Bound: true}}
		g.Replacements[name] = topology.MemberReplacement{Claims: m.ClaimUIDs()}
	}
	f := of(c)
	want := "recreate StatefulSet t-tidb with other claim templates, keeping its pods, mark tidb-log-t-tidb-1 as left over, " +
		"delete left-over claim tidb-log-t-tidb-1, restart t-tidb-1, mark tidb-log-t-tidb-0 as left over, " +
		"delete left-over claim tidb-log-t-tidb-0, restart t-tidb-0"
	if got := strings.Join(texts(f), ", "); got != want || f.Last.Outcome != plan.Converged {
		t.Errorf("%s; %s", got, f.Last.Outcome)
	}
}

package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestQuorumIfItJoins: a pod that may join PD at any moment is removed only if PD has a quorum with one more voter.
func TestQuorumIfItJoins(t *testing.T) {
	for name, c := range map[string]struct {
		members int // of PD, before the new one
		healthy int
		change  func(*state.Member)
		waits   bool
	}{
		"PD has one member":                      {1, 1, func(*state.Member) {}, true},
		"PD has two members":                     {2, 2, func(*state.Member) {}, false},
		"one of three members is not healthy":    {3, 2, func(*state.Member) {}, true},
		"PD has three members":                   {3, 3, func(*state.Member) {}, false},
		"its container does not run yet":         {1, 1, func(m *state.Member) { m.Pod.Started = time.Time{} }, true},
		"its container never runs":               {1, 1, func(m *state.Member) { m.Pod.Started, m.Pod.Made = time.Time{}, plantest.Now.Add(-time.Hour) }, false},
		"it has run for long, and does not join": {1, 1, func(m *state.Member) { m.Pod.Started = plantest.Now.Add(-facts.Registering) }, false},
		"PD has removed it":                      {1, 1, func(m *state.Member) { m.Claims[0].Marked = true }, false},
		"it has no pod":                          {1, 1, func(m *state.Member) { m.Pod = nil }, false},
	} {
		cluster := plantest.New(c.members+1, 3, 1)
		last := cluster.Member(cluster.Wanted.Cluster.PodName(topology.PD, c.members))
		last.Database = state.Database{Presence: state.Absent}
		last.Pod.Started, last.Pod.Made = plantest.Now.Add(-10*time.Second), plantest.Now.Add(-20*time.Second)
		cluster.Seen.PD.Members, cluster.Seen.PD.Healthy = c.members, c.healthy
		cluster.Want(topology.PD).Replicas = c.members
		c.change(last)
		if p := cluster.Decide(); (len(p.Steps) == 0) != c.waits {
			t.Errorf("%s: waits %t\n%s", name, !c.waits, plantest.Text(p))
		}
	}
}

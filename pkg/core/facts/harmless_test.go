package facts_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestUnlistedMember: PD lists no store at the address of a pod. A process that has run for long without joining is
// restarted at once. By a status without a start nobody knows how long the process runs: the status may be an old one
// of a kubelet that is not heard, and the store may serve under another address.
func TestUnlistedMember(t *testing.T) {
	for name, c := range map[string]struct {
		started  time.Time
		harmless bool
	}{
		"runs for long":        {plantest.Now.Add(-time.Hour), true},
		"runs for a moment":    {plantest.Now.Add(-time.Second), false},
		"no start is known":    {time.Time{}, false},
		"runs for two minutes": {plantest.Now.Add(-facts.Settling), true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 2)
			m := cluster.Member("t-tikv-2")
			m.Database = state.Database{Presence: state.Absent}
			m.Pod.Ready, m.Pod.Started, m.Pod.Addressed = false, c.started, true
			for _, of := range facts.Of(&cluster.Wanted, &cluster.Seen) {
				if of.Want.Kind != topology.TiKV {
					continue
				}
				if got := of.RestartIsHarmless(*m); got != c.harmless {
					t.Errorf("got %t, wanted %t", got, c.harmless)
				}
			}
		})
	}
}

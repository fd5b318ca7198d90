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

// failing takes a server down whose status port answers with errors since a while ago.
func failing(c *plantest.Cluster, server string, ago time.Duration) {
	m := c.Down(ago, server).Member(server)
	m.Database.Answer, m.Database.Listening, m.Refusing = state.Refused, true, plantest.Now.Add(-ago)
}

// TestLastServer: two kinds of evidence say for minutes that a TiDB server does not serve, and both may be wrong. The
// server may be the last one that serves while the other server has lost its host. Where both servers fail on hosts that
// run, the template may be the reason.
func TestLastServer(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(cluster *plantest.Cluster, peer *state.Member)
		harmless bool
	}{
		"the peer serves": {func(*plantest.Cluster, *state.Member) {}, true},
		"the peer fails as well": {func(c *plantest.Cluster, _ *state.Member) {
			failing(c, "t-tidb-0", 3*time.Minute)
		}, true},
		"the peer has just begun to fail": {func(c *plantest.Cluster, _ *state.Member) {
			failing(c, "t-tidb-0", time.Second)
		}, false},
		"the process of the peer does not run": {func(c *plantest.Cluster, peer *state.Member) {
			failing(c, "t-tidb-0", time.Second)
			peer.Database.Listening = false
		}, true},
		"the host of the peer is lost": {func(c *plantest.Cluster, peer *state.Member) {
			failing(c, "t-tidb-0", 3*time.Minute)
			peer.Pod.NodeState = state.NodeNotReady
		}, false},
		"the peer cannot be scheduled": {func(c *plantest.Cluster, peer *state.Member) {
			failing(c, "t-tidb-0", time.Second)
			peer.Pod.Node, peer.Pod.NodeState, peer.Pod.Addressed = "", state.NodeUnknown, false
		}, true},
		"the host of the peer may not be read": {func(c *plantest.Cluster, peer *state.Member) {
			failing(c, "t-tidb-0", 3*time.Minute)
			peer.Pod.NodeState = state.NodeUnknown
		}, false},
		"the peer has no pod": {func(_ *plantest.Cluster, peer *state.Member) { peer.Pod = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 2)
			for _, server := range []string{"t-tidb-0", "t-tidb-1"} {
				m := cluster.Member(server)
				m.Pod.Addressed, m.Pod.Node, m.Pod.NodeState = true, "n1", state.NodeReady
			}
			failing(cluster, "t-tidb-1", 3*time.Minute)
			c.change(cluster, cluster.Member("t-tidb-0"))
			for _, of := range facts.Of(&cluster.Wanted, &cluster.Seen) {
				if of.Want.Kind != topology.TiDB {
					continue
				}
				if got := of.RestartIsHarmless(*cluster.Member("t-tidb-1")); got != c.harmless {
					t.Errorf("got %t, wanted %t", got, c.harmless)
				}
			}
		})
	}
}

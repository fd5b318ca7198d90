package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLostVolume: a member whose volume no node can use never starts. A gate says so, with the command that helps. The
// member gets a new volume when a user names it, and a member of PD also when it is given up.
func TestLostVolume(t *testing.T) {
	removed := func(c *plantest.Cluster) {
		m := c.Member("t-pd-1")
		m.Database, m.Claims[0].Marked, m.Claims[0].Identity.Labels = state.Database{Presence: state.Absent}, true, nil
		c.Seen.PD.Members--
	}
	plantest.Waits(t, "lost-volume", []plantest.Case{
		{Name: "a store that nobody has named", Cluster: lostVolume(plantest.New(3, 4, 2), "t-tikv-1")},
		{Name: "a store", Cluster: lostVolume(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1")},
		{Name: "a store, and too few others", Cluster: lostVolume(replaced(plantest.New(3, 3, 2), "t-tikv-1"), "t-tikv-1")},
		{Name: "two stores of the same node", Cluster: lostVolume(replaced(plantest.New(3, 6, 2), "t-tikv-1", "t-tikv-2"), "t-tikv-1", "t-tikv-2")},
		{Name: "a store, and another one is down", Cluster: lostVolume(replaced(plantest.New(3, 6, 2), "t-tikv-1"), "t-tikv-1").Down(time.Minute, "t-tikv-2")},
		{Name: "a store that serves, and the volume of another one is lost", Cluster: lostVolume(replaced(plantest.New(3, 6, 2), "t-tikv-1"), "t-tikv-2")},
		{Name: "a store that is a tombstone", Cluster: edit(lostVolume(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
		})},
		{Name: "a member of PD", Cluster: lostVolume(replaced(plantest.New(3, 4, 2), "t-pd-1"), "t-pd-1")},
		{Name: "a member of PD, and another one is down", Cluster: lostVolume(replaced(plantest.New(3, 4, 2), "t-pd-1"), "t-pd-1").Down(time.Minute, "t-pd-2")},
		{Name: "a member of PD that is removed, whose claim nobody has labelled", Cluster: edit(lostVolume(replaced(plantest.New(3, 4, 2), "t-pd-1"), "t-pd-1"), removed)},
		{Name: "a member of PD that is removed, and whose pod only waits", Cluster: edit(lostVolume(replaced(plantest.New(3, 4, 2), "t-pd-1"), "t-pd-1"), func(c *plantest.Cluster) {
			removed(c)
			c.Member("t-pd-1").LostVolume = state.LostVolume{}
		})},
		{Name: "a member of PD that was given up: no further member", Cluster: failing(func(c *plantest.Cluster) {
			lostVolume(c, "t-pd-1")
			given(c, "t-pd-1", time.Minute)
			removed(c)
		})},
		{Name: "a member of PD that others have removed", Cluster: failing(func(c *plantest.Cluster) {
			lostVolume(c, "t-pd-1")
			m := c.Member("t-pd-1")
			m.Database, m.Claims[0].Identity.Labels = state.Database{Presence: state.Absent}, map[string]string{"tidb.pingcap.com/member-id": "102"}
			c.Seen.PD.Members--
		})},
		{Name: "a server with a volume of its own", Cluster: lostVolume(plantest.New(3, 4, 2), "t-tidb-1")},
	})
}

// TestLostVolumeNoticed: a notice names the volume. It has the command that helps until somebody has asked for that.
func TestLostVolumeNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    int
		help    string
	}{
		"nobody has named it": {lostVolume(plantest.New(3, 4, 2), "t-tikv-1"), 1, "if the node does not come back, give the member a new volume: kubectl tidb replace t t-tikv-1 -n ns"},
		"named":               {lostVolume(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), 1, ""},
		"not wanted":          {edit(lostVolume(plantest.New(3, 4, 2), "t-tikv-3"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 }), 0, ""},
		"suspended":           {edit(lostVolume(plantest.New(3, 4, 2), "t-tikv-1"), func(c *plantest.Cluster) { c.Want(tikv).Suspend = true }), 0, ""},
		"no volume is lost":   {plantest.New(3, 4, 2), 0, ""},
	} {
		p := c.cluster.Decide()
		n := 0
		for _, got := range p.Notices {
			if got.Reason == event.VolumeLost {
				n++
				if help := got.Remedy.Line(""); help != c.help || got.Text != "volume pv-t-tikv-1 can be used only on node n9, which does not exist, so that its pod gets no node" {
					t.Errorf("%s: %q, %q", name, got.Text, help)
				}
			}
		}
		if n != c.want {
			t.Errorf("%s: %d notices, want %d", name, n, c.want)
		}
	}
}

// lostVolume has the pods of members wait for a node, because their volumes can be used only on a node that was deleted.
func lostVolume(c *plantest.Cluster, names ...string) *plantest.Cluster {
	for _, name := range names {
		lost(c, time.Hour, name)
		m := c.Member(name)
		m.LostVolume = state.LostVolume{Name: "pv-" + name, Claim: "claim-of-" + name, Nodes: []string{"n9"}}
		m.Pod.Node, m.Pod.Ran, m.Pod.Started = "", false, time.Time{}
		m.Pod.Problem = "Unschedulable; " + m.LostVolume.String()
	}
	return c
}

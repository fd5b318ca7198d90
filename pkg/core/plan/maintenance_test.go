package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestMaintenance: while a node with members may go down at any time, no member on another node is taken away.
// Everything else goes on.
func TestMaintenance(t *testing.T) {
	plantest.Table(t, "maintenance", []plantest.Case{
		{Name: "nothing to do", Cluster: maintained()},
		{Name: "a store on another node, whose leaders stay", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "a store on another node, whose leaders have left", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tikv).Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "a store on the node", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 2, 3) })},
		{Name: "a store on another node, whose process does not run", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-3") })},
		{Name: "the node is down", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-1", "t-pd-1", "t-tidb-1") })},
		{Name: "PD on other nodes", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(pd) })},
		{Name: "a server on another node", Cluster: maintained(func(c *plantest.Cluster) { c.Roll(tidb) })},
		{Name: "a member that was named", Cluster: maintained(func(c *plantest.Cluster) { name(c, "t-tidb-0") })},
		{Name: "one on the node that was named", Cluster: maintained(func(c *plantest.Cluster) { name(c, "t-tidb-1") })},
		{Name: "scale-out", Cluster: maintained(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 })},
		{Name: "scale-in of a store", Cluster: maintained(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
		{Name: "scale-in of a server", Cluster: maintained(func(c *plantest.Cluster) { c.Want(tidb).Replicas = 2 })},
		{Name: "a suspension of servers", Cluster: maintained(func(c *plantest.Cluster) { c.Want(tidb).Suspend = true })},
		{Name: "an eviction to end", Cluster: maintained(func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "all members are elsewhere now", Cluster: maintained(func(c *plantest.Cluster) {
			c.Roll(tidb)
			for _, n := range []string{"t-pd-1", "t-tikv-1", "t-tidb-1"} {
				c.Member(n).Pod.Node = "node-7"
			}
		})},
	})
}

// maintained returns a cluster of which node-1 is under maintenance.
func maintained(changes ...func(*plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 3)
	c.Wanted.Cluster.Maintained = []topology.Maintenance{{Node: "node-1", By: "ann@desk", Since: plantest.Now.Add(-time.Hour)}}
	for _, change := range changes {
		change(c)
	}
	return c
}

// TestMaintenanceNamed: the gate says which node it is, since when and by whom, and how it ends.
func TestMaintenanceNamed(t *testing.T) {
	for _, g := range maintained(func(c *plantest.Cluster) { c.Roll(tidb) }).Decide().Gates {
		if g.Reason != plan.MaintenanceEnded {
			continue
		}
		text := g.String() + "; " + g.Remedy.Line("")
		for _, want := range []string{"node under maintenance: node-1, with t-pd-1, t-tikv-1, t-tidb-1, since 2026-01-01T00:00:00Z, begun by ann@desk",
			"kubectl tidb maintenance stop node-1", "kubectl annotate tidbcluster t kubectl-tidb/maintenance-"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		return
	}
	t.Error("nothing is held back")
}

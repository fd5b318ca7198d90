package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestTiCDCGates: what a user reads while captures wait, and what helps.
func TestTiCDCGates(t *testing.T) {
	captures := func(from, to int, changes ...func(*plantest.Cluster)) *plantest.Cluster {
		c := plantest.NewCaptures(3, 3, 2, from)
		c.Want(topology.TiCDC).Replicas = to
		for _, change := range changes {
			change(c)
		}
		return c
	}
	owner := func(i int) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for n := range c.Seen.Groups[topology.TiCDC].Members {
				capture(c, n).Owner, capture(c, n).Leads = n == i, plantest.Capture(i)
			}
		}
	}
	unboot := func(c *plantest.Cluster) { c.Seen.PD.Bootstrapped = false }
	plantest.Waits(t, "ticdc", []plantest.Case{
		{Name: "scale-out", Cluster: captures(2, 3)},
		{Name: "scale-out, and PD cannot be asked", Cluster: captures(2, 3, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "scale-out, and no store has joined", Cluster: captures(2, 3, unboot)},
		{Name: "the owner leaves", Cluster: captures(2, 1, owner(1))},
		{Name: "the owner was asked to resign", Cluster: captures(2, 1, owner(1), func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, state.TablesUnknown) })},
		{Name: "tables leave", Cluster: captures(2, 1, func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, 7) })},
		{Name: "it is not known how many are left", Cluster: captures(2, 1, func(c *plantest.Cluster) { c.Draining("t-ticdc-1", time.Minute, state.TablesUnknown) })},
		{Name: "TiCDC does not answer", Cluster: captures(2, 1, func(c *plantest.Cluster) { silent(c, 1) })},
		{Name: "TiCDC does not answer, and its last number of changefeeds was none", Cluster: captures(1, 0, func(c *plantest.Cluster) {
			capture(c, 0).Drains, capture(c, 0).Others, capture(c, 0).Feeds = state.DrainsUnknown, 0, 0
		})},
		{Name: "the last one, and one changefeed runs", Cluster: captures(1, 0, func(c *plantest.Cluster) { alone(c, 1) })},
		{Name: "the last old one", Cluster: captures(1, 0, func(c *plantest.Cluster) { old(c, "v5.0.0") })},
		{Name: "an old one, and the other one does not serve", Cluster: captures(2, 1, func(c *plantest.Cluster) {
			old(c, "v5.0.0")
			c.Down(time.Minute, "t-ticdc-0")
		})},
		{Name: "the other one has ended, and TiCDC lists it", Cluster: captures(2, 1, func(c *plantest.Cluster) { c.Down(time.Second, "t-ticdc-0") })},
		{Name: "the pod of a drained one is gone", Cluster: captures(2, 2, func(c *plantest.Cluster) {
			c.Draining("t-ticdc-1", time.Minute, 3)
			c.Member("t-ticdc-1").Pod = nil
		})},
	})
}

// TestTablesLeft: the number of tables is known only by the answer of the present owner about the present capture.
func TestTablesLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster, *state.Drain)
		want   plan.Quantity
	}{
		"it is known":             {func(*plantest.Cluster, *state.Drain) {}, plan.Quantity{Number: 7, Unit: plan.Tables}},
		"it is not known":         {func(_ *plantest.Cluster, d *state.Drain) { d.Tables = state.TablesUnknown }, plan.Quantity{}},
		"of another capture":      {func(_ *plantest.Cluster, d *state.Drain) { d.Capture = "" }, plan.Quantity{}},
		"of another owner":        {func(_ *plantest.Cluster, d *state.Drain) { d.Of = "another" }, plan.Quantity{}},
		"the pod is another one":  {func(_ *plantest.Cluster, d *state.Drain) { d.PodUID = "former" }, plan.Quantity{}},
		"it was long ago":         {func(_ *plantest.Cluster, d *state.Drain) { d.Asked = plantest.Now.Add(-5 * time.Minute) }, plan.Quantity{}},
		"it was not so long ago":  {func(_ *plantest.Cluster, d *state.Drain) { d.Asked = plantest.Now.Add(-5*time.Minute + time.Second) }, plan.Quantity{Number: 7, Unit: plan.Tables}},
		"the capture is restored": {func(c *plantest.Cluster, _ *state.Drain) { capture(c, 1).ID = "new" }, plan.Quantity{}},
	} {
		c := plantest.NewCaptures(3, 3, 2, 2)
		c.Want(topology.TiCDC).Replicas = 1
		tt.change(c, c.Draining("t-ticdc-1", time.Minute, 7))
		asked := false
		for _, g := range c.Decide().Gates {
			if g.Reason == plan.TablesMoved {
				asked = true
				if g.Left != tt.want {
					t.Errorf("%s: %+v, want %+v", name, g.Left, tt.want)
				}
			}
		}
		if !asked {
			t.Errorf("%s: tables are not waited for", name)
		}
	}
}

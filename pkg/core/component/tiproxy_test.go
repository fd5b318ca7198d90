package component_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestTiProxy: members of TiProxy are restarted one after the other, each when the others serve,
// between PD and TiKV.
func TestTiProxy(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		step   string
		gate   string
	}{
		"the highest ordinal first":          {func(c *plantest.Cluster) { c.Roll(topology.TiProxy) }, "restart t-tiproxy-1", ""},
		"another one does not serve":         {func(c *plantest.Cluster) { c.Roll(topology.TiProxy).Down(0, "t-tiproxy-0") }, "", "t-tiproxy-0"},
		"TiKV waits for it":                  {func(c *plantest.Cluster) { c.Roll(topology.TiProxy).Roll(topology.TiKV) }, "restart t-tiproxy-1", "TiKV"},
		"it waits for PD":                    {func(c *plantest.Cluster) { c.Roll(topology.TiProxy).Roll(topology.PD) }, "restart t-pd-2", "TiProxy"},
		"tidb-B5: the user deletes the pods": {func(c *plantest.Cluster) { c.Roll(topology.TiProxy); manual(c) }, "", "t-tiproxy-1"},
		"claims of one that leaves are marked first": {func(c *plantest.Cluster) {
			c.Want(topology.TiProxy).Replicas = 1
			c.Member("t-tiproxy-1").Claims = []state.Claim{{Name: "log", UID: "1"}}
		}, "mark log as left over", "t-tiproxy-1"},
		"nothing is done while PD is not there": {func(c *plantest.Cluster) {
			c.Roll(topology.TiProxy)
			c.Seen.PD = state.PD{Problem: "no PD pod is running"}
		}, "", "TiProxy"},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.NewProxies(3, 3, 2, 2)
			tt.change(c)
			p := plan.Decide(component.Profiles(), c.Policy, c.Wanted, c.Seen)
			if got := steps(p); got != tt.step {
				t.Errorf("steps %q, want %q; %v", got, tt.step, p.Gates)
			}
			if tt.gate != "" && !gated(p, tt.gate) {
				t.Errorf("no gate of %s: %v", tt.gate, p.Gates)
			}
		})
	}
}

// TestTiProxyReloads: nobody is told to restart TiProxy for another configuration, which it reads by
// itself.
func TestTiProxyReloads(t *testing.T) {
	c := plantest.NewProxies(3, 3, 2, 1)
	for _, k := range []topology.Kind{topology.TiProxy, topology.TiDB} {
		c.Want(k).InPlace = true
		c.Member(c.Wanted.Cluster.PodName(k, 0)).Pod.Config = state.ConfigOlder
	}
	p := plan.Decide(component.Profiles(), c.Policy, c.Wanted, c.Seen)
	if len(p.Unapplied) != 1 || p.Unapplied[0].Component != topology.TiDB {
		t.Errorf("%+v", p.Unapplied)
	}
}

func manual(c *plantest.Cluster) {
	c.Set(topology.TiProxy, func(s *state.Set) { s.Manual = true })
	c.Want(topology.TiProxy).Manual = true
}

func steps(p plan.Plan) string {
	text := ""
	for _, s := range p.Steps {
		text += s.String()
	}
	return text
}

func gated(p plan.Plan, subject string) bool {
	for _, g := range p.Gates {
		if g.Member == subject || g.Component.Title() == subject {
			return true
		}
	}
	return false
}

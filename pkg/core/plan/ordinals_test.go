package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// Somebody has raised spec.ordinals.start above members with data. No step is taken, no claim is marked, and nothing is
// written before a person has corrected the field.
func TestOrdinalsStart(t *testing.T) {
	for _, k := range []topology.Kind{topology.PD, topology.TiKV} {
		c := plantest.New(3, 4, 2)
		c.Set(k, func(s *state.Set) { s.Start = 1 })
		c.Want(topology.TiDB).Replicas, c.Want(topology.TiKV).Replicas = 3, 5
		p := c.Decide()
		name := c.Wanted.Cluster.SetName(k)
		if p.Outcome != plan.Blocked || len(p.Steps)+len(p.Upkeep) > 0 || len(p.Gates) != 1 {
			t.Fatalf("%s: %s", k, plantest.Text(p))
		}
		want := name + "-0: ordinals of the members not kept: StatefulSet " + name + " has spec.ordinals.start 1, and PD counts on " + name + "-0"
		if got := p.Gates[0].String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if help := p.Gates[0].Remedy.Line(""); !strings.Contains(help, `kubectl patch statefulset `+name) || !strings.Contains(help, `"start":0`) {
			t.Errorf("what to do: %s", help)
		}
		if gates := plan.Refusals(component.Profiles(), c.Wanted, c.Seen); len(gates) != 1 || gates[0].Reason != plan.OrdinalsKept {
			t.Errorf("a command is not refused: %v", gates)
		}
	}
}

// Servers of TiDB have no data, so that others may take their place.
func TestOrdinalsStartOfServers(t *testing.T) {
	c := plantest.New(3, 4, 2)
	c.Set(topology.TiDB, func(s *state.Set) { s.Start = 1 })
	c.Want(topology.TiDB).Start = 1
	if p := c.Decide(); len(p.Gates) > 0 && p.Gates[0].Reason == plan.OrdinalsKept {
		t.Errorf("got %s", plantest.Text(p))
	}
}

// A suspension deletes the StatefulSet, which alone has the first ordinal. Members with data would not come back.
func TestOrdinalsLostBySuspension(t *testing.T) {
	c := plantest.New(3, 4, 2).Numbered(topology.Ordinals{Start: 2})
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Suspend = true
	}
	p := c.Decide()
	if p.Outcome != plan.Blocked || len(p.Steps) > 0 || p.Gates[len(p.Gates)-1].Reason != plan.OrdinalsKept {
		t.Errorf("got %s", plantest.Text(p))
	}
}

// A StatefulSet may have any ordinals. What is decided depends on the order of the members alone: with other ordinals in
// the same order the same steps are taken and the same is awaited, for the members in the same places.
func TestDecisionsDependOnOrderOfOrdinals(t *testing.T) {
	for name, change := range map[string]func(*plantest.Cluster){
		"nothing to do": func(*plantest.Cluster) {},
		"first store in a rollout": func(c *plantest.Cluster) {
			c.Roll(topology.TiKV)
		},
		"second store in a rollout": func(c *plantest.Cluster) {
			c.Roll(topology.TiKV).Rolled(topology.TiKV, 3, 2)
		},
		"PD's leader in a rollout": func(c *plantest.Cluster) {
			c.Roll(topology.PD).Rolled(topology.PD, 2, 1)
		},
		"rollout to be closed": func(c *plantest.Cluster) {
			c.Roll(topology.TiDB).Rolled(topology.TiDB, 1, 0).Set(topology.TiDB, func(s *state.Set) { s.CurrentRevision = "v2" })
		},
		"scale-in of a store": func(c *plantest.Cluster) { c.Want(topology.TiKV).Replicas = 3 },
		"scale-in of PD":      func(c *plantest.Cluster) { c.Want(topology.PD).Replicas = 1 },
		"scale-in of TiDB":    func(c *plantest.Cluster) { c.Want(topology.TiDB).Replicas = 1 },
		"scale-out of all":    func(c *plantest.Cluster) { growAll(c) },
		"canary": func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Held, c.Want(topology.TiKV).Canary = true, 1
			c.Roll(topology.TiKV).Rolled(topology.TiKV, 3)
		},
		"member of PD that is missing": func(c *plantest.Cluster) { lose(c, topology.PD, 1) },
		"store that is missing":        func(c *plantest.Cluster) { lose(c, topology.TiKV, 1) },
		"replicas lowered by a person": func(c *plantest.Cluster) {
			c.Set(topology.TiKV, func(s *state.Set) { s.Replicas, s.Partition = 3, 3 })
			c.Member("t-tikv-3").Pod = nil
		},
	} {
		for kind, o := range map[string]topology.Ordinals{
			"from 2 on":  {Start: 2},
			"with slots": {Slots: []int{0, 2, 3, 6}},
		} {
			c := plantest.New(3, 4, 2)
			change(c)
			want := c.Decide()
			got := c.Numbered(o).Decide()
			if a, b := plantest.Text(got), c.NamesNumbered(o, plantest.Text(want)); a != b {
				t.Errorf("%s, ordinals %s:\ngot\n%s\nwant\n%s", name, kind, a, b)
			}
		}
	}
}

func growAll(c *plantest.Cluster) {
	for k, n := range map[topology.Kind]int{topology.PD: 5, topology.TiKV: 6, topology.TiDB: 4} {
		c.Want(k).Replicas = n
	}
}

func lose(c *plantest.Cluster, k topology.Kind, n int) {
	m := c.Member(c.Wanted.Cluster.PodName(k, n))
	m.Pod, m.Database.Healthy, m.Gone = nil, false, plantest.Now.Add(-time.Hour)
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// Steps of components whose last step failed come after those of others.
func TestTurn(t *testing.T) {
	// A member of PD is lost, and TiKV and TiDB are to be scaled in.
	disruptive := func() *plantest.Cluster {
		c := plantest.New(3, 4, 3).Down(time.Hour, "t-pd-2")
		c.Policy.Failover = plan.Failing{Members: true, Now: true}
		c.Want(topology.TiDB).Replicas = 2
		return c
	}
	calm := func(kinds ...topology.Kind) *plantest.Cluster {
		c := disruptive()
		for _, k := range kinds {
			c.Want(k).Services[0].Drift = desired.Differs
		}
		return c
	}
	whole := func() *plantest.Cluster {
		c := disruptive()
		c.Wanted.Objects = []desired.Object{{Kind: "ConfigMap", Name: "t-discovery", Drift: desired.Differs}}
		return c
	}
	const failover, scaleIn = "act\ngive up t-pd-2", "act\nscale TiDB from 3 to 2"
	for name, tc := range map[string]struct {
		c     *plantest.Cluster
		later []topology.Kind
		want  string
	}{
		"nothing failed":                              {disruptive(), nil, failover},
		"a disruptive step failed":                    {disruptive(), []topology.Kind{topology.PD}, scaleIn},
		"both failed, the first longer ago":           {disruptive(), []topology.Kind{topology.PD, topology.TiDB}, failover},
		"both failed, the second longer ago":          {disruptive(), []topology.Kind{topology.TiDB, topology.PD}, scaleIn},
		"another one failed":                          {disruptive(), []topology.Kind{topology.TiKV}, failover},
		"steps that are not disruptive come first":    {calm(topology.TiKV), nil, "act\nupdate Service t-tikv-peer"},
		"a step that is not disruptive failed":        {calm(topology.TiKV), []topology.Kind{topology.TiKV}, failover},
		"it is tried again with others of it":         {calm(topology.TiKV, topology.TiDB), []topology.Kind{topology.TiKV}, "act\nupdate Service t-tikv-peer\nupdate Service t-tidb-peer"},
		"all failed, and the first has nothing to do": {disruptive(), []topology.Kind{topology.TiKV, topology.PD, topology.TiDB}, failover},
		"a step for the cluster as a whole failed":    {whole(), []topology.Kind{""}, "act\nupdate ConfigMap t-discovery"},
		"it is tried when nothing else is left":       {calm(topology.TiKV), []topology.Kind{topology.TiKV, topology.PD, topology.TiDB}, "act\nupdate Service t-tikv-peer"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.c.Policy.Later = tc.later
			p := tc.c.Decide()
			p.Gates = nil
			if got := plantest.Text(p); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

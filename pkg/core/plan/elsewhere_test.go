package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestStoresElsewhere: nothing is taken away from regions while a store elsewhere does not serve. PD counts such a
// store, though it is no member of this cluster.
func TestStoresElsewhere(t *testing.T) {
	failed := func(c *plantest.Cluster, ago time.Duration) *plantest.Cluster {
		m := c.Roll(tikv).Member("t-tikv-2")
		m.Database.Healthy, m.Database.State, m.Database.Since = false, state.StoreDisconnected, plantest.Now.Add(-ago)
		m.Pod.Ready, m.Pod.Since = false, plantest.Now.Add(-ago)
		c.Seen.PD.UpStores--
		return c
	}
	plantest.Table(t, "elsewhere", []plantest.Case{
		{Name: "nothing to do", Cluster: farStoreDown(plantest.New(3, 4, 2))},
		{Name: "a rollout", Cluster: farStoreDown(plantest.New(3, 3, 2).Roll(tikv))},
		{Name: "a rollout, leaders have left", Cluster: farStoreDown(plantest.New(3, 3, 2).Roll(tikv).Evicting("t-tikv-2", time.Minute, 0))},
		{Name: "a store that was named", Cluster: name(farStoreDown(plantest.New(3, 3, 2)), "t-tikv-1")},
		{Name: "a scale-in", Cluster: func() *plantest.Cluster {
			c := farStoreDown(plantest.New(3, 5, 2))
			c.Want(tikv).Replicas = 4
			return c
		}()},
		{Name: "its process does not run", Cluster: farStoreDown(plantest.New(3, 3, 2).Roll(tikv).Down(time.Minute, "t-tikv-2"))},
		{Name: "two reports agree for three minutes", Cluster: farStoreDown(failed(plantest.New(3, 3, 2), 3*time.Minute))},
		{Name: "two reports agree for long", Cluster: farStoreDown(failed(plantest.New(3, 3, 2), 11*time.Minute))},
		{Name: "TiDB", Cluster: farStoreDown(plantest.New(3, 3, 2).Roll(tidb))},
		{Name: "TiFlash", Cluster: farStoreDown(plantest.NewFlash(3, 3, 2, 2).Roll(topology.TiFlash))},
	})
}

// farStoreDown adds a store that is down and no member of the cluster.
func farStoreDown(c *plantest.Cluster) *plantest.Cluster {
	c.Seen.PD.Stores++
	c.Seen.PD.Elsewhere = append(c.Seen.PD.Elsewhere, state.StoreElsewhere{ID: 90, Address: "10.0.0.7:20160", State: state.StoreDown})
	return c
}

// TestStoresElsewhereNamed: the gate names the store, and what can be done.
func TestStoresElsewhereNamed(t *testing.T) {
	for _, g := range farStoreDown(plantest.New(3, 3, 2).Roll(tikv)).Decide().Gates {
		if g.Reason != plan.StoresElsewhereUp {
			continue
		}
		text := g.String() + "; " + g.Remedy.Line("")
		for _, want := range []string{"TiKV: PD does not call 1 store Up that is no member of this cluster: 10.0.0.7:20160 (Down)", "pd-ctl", "store delete"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		return
	}
	t.Error("nothing is held back")
}

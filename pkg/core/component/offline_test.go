package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOfflineStores: what we took offline is brought back when it is wanted again. A store that
// another user took offline is left alone and reported.
func TestOfflineStores(t *testing.T) {
	at := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 4, 2)
		for _, change := range changes {
			change(c)
		}
		return c
	}
	ours := func(c *plantest.Cluster) { c.Removing("t-tikv-3", time.Minute) }
	theirs := func(c *plantest.Cluster) { c.Offline("t-tikv-3") }
	recorded := func(s state.StoreState) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Removing("t-tikv-3", time.Minute).Member("t-tikv-3").Database.State = s
			c.Member("t-tikv-3").Database.Healthy = s == state.StoreUp
		}
	}
	given := func(discarded bool) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Want(tikv).Failures = []topology.Failure{{Member: "t-tikv-3", ID: 4, Created: plantest.Now, Discarded: discarded}}
		}
	}
	plantest.Waits(t, "offline-stores", []plantest.Case{
		{Name: "ours, wanted again", Cluster: at(ours)},
		{Name: "ours, not wanted", Cluster: in(tikv, ours)},
		{Name: "another user's", Cluster: at(theirs)},
		{Name: "another user's, not wanted", Cluster: in(tikv, theirs)},
		{Name: "another user's, where its regions have no place", Cluster: at(theirs, func(c *plantest.Cluster) { c.Seen.PD.UpStores = 2 })},
		{Name: "another user's, for an hour", Cluster: at(theirs, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").NotServing = plantest.Now.Add(-time.Hour)
		})},
		{Name: "another user's, and pd-0 does not serve", Cluster: at(theirs, func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-0") })},
		{Name: "another user's, and its pod crashes", Cluster: at(theirs, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Pod.Ready, m.Pod.Started, m.Pod.Since = false, time.Time{}, plantest.Now.Add(-time.Minute)
		})},
		{Name: "another user's, others are to be restarted", Cluster: at(theirs, func(c *plantest.Cluster) { c.Roll(tikv).Rolled(tikv, 3) })},
		{Name: "another user's, it is to be restarted", Cluster: at(theirs, func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "another user's, more are asked for", Cluster: at(theirs, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 })},
		{Name: "another user's, given up", Cluster: at(theirs, given(false))},
		{Name: "given up with its data, by a tidb-operator", Cluster: at(theirs, given(true))},
		{Name: "another user's, to be suspended", Cluster: at(theirs, func(c *plantest.Cluster) {
			c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true
			c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
			g := c.Seen.Groups[tidb]
			g.Members = nil
			c.Seen.Groups[tidb] = g
		})},
		{Name: "recorded, PD was never asked, to be suspended", Cluster: at(recorded(state.StoreUp), func(c *plantest.Cluster) {
			c.Want(tikv).Suspend, c.Want(tidb).Suspend = true, true
			c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
			g := c.Seen.Groups[tidb]
			g.Members = nil
			c.Seen.Groups[tidb] = g
		})},
		{Name: "recorded, PD was never asked, wanted", Cluster: at(recorded(state.StoreUp))},
		{Name: "recorded, PD was never asked, not wanted", Cluster: in(tikv, recorded(state.StoreUp))},
		{Name: "recorded, and a tombstone", Cluster: in(tikv, recorded(state.StoreTombstone))},
		{Name: "recorded, and another store has come in its place", Cluster: at(ours, func(c *plantest.Cluster) {
			d := &c.Member("t-tikv-3").Database
			d.ID, d.State, d.Healthy = 9, state.StoreUp, true
		})},
		{Name: "recorded, and PD does not answer", Cluster: at(ours, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "recorded, and PD says that it has no stores", Cluster: in(tikv, ours, func(c *plantest.Cluster) {
			c.Seen.PD.Bootstrapped = false
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].Database = state.Database{}
			}
		})},
	})
	if c := at(theirs); len(undo(c)) > 0 {
		t.Errorf("taken back: %v", undo(c))
	}
}

// undo returns what is taken back at the end of a run.
func undo(c *plantest.Cluster) []step.Step {
	steps, _ := plan.Undo(c.Wanted, c.Seen)
	return steps
}

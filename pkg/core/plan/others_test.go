package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestForeignScheduler: a store that another user keeps leaders off is reported.
func TestForeignScheduler(t *testing.T) {
	c := with(func(c *plantest.Cluster) { c.Member("t-tikv-1").Database.Evicting = true })
	found := c.Decide().Notices
	if len(found) != 1 || found[0].Reason != event.ForeignScheduler || found[0].Component != tikv || found[0].Member != "t-tikv-1" {
		t.Errorf("%+v", found)
	}
	c.Wanted.Cluster.Maintained = []topology.Maintenance{{Node: "n1", Evicting: []uint64{c.Member("t-tikv-1").Database.ID}}}
	if found = c.Decide().Notices; len(found) > 0 {
		t.Errorf("by maintenance start: %+v", found)
	}
}

// TestTakenOffline: others have taken a store offline, and the rollout waits for it.
func TestTakenOffline(t *testing.T) {
	taken := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return with(append([]func(c *plantest.Cluster){func(c *plantest.Cluster) { c.Roll(tikv).Offline("t-tikv-1") }}, changes...)...)
	}
	pod := func(change func(p *state.Pod)) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { change(c.Member("t-tikv-1").Pod) }
	}
	plantest.Waits(t, "taken-offline", []plantest.Case{
		{Name: "it serves", Cluster: taken()},
		{Name: "its pod is not ready", Cluster: taken(pod(func(p *state.Pod) { p.Ready = false }))},
		{Name: "its pod is going", Cluster: taken(pod(func(p *state.Pod) { p.Terminating = true }))},
		{Name: "it has no pod", Cluster: taken(func(c *plantest.Cluster) { c.Member("t-tikv-1").Pod = nil })},
		{Name: "its data was given up", Cluster: taken(func(c *plantest.Cluster) {
			replacement(c, tikv)
			given(c, "t-tikv-1", time.Hour, discarded)
			c.Member("t-tikv-1").Pod.Ready = false
		})},
		{Name: "its data was given up, and PD knows it by another id since", Cluster: taken(func(c *plantest.Cluster) {
			replacement(c, tikv)
			given(c, "t-tikv-1", time.Hour, discarded, func(f *topology.Failure) { f.ID = 99 })
			c.Member("t-tikv-1").Pod.Ready = false
		})},
		{Name: "the data of another one was given up, and its regions leave", Cluster: taken(func(c *plantest.Cluster) {
			replacement(c, tikv)
			lost(c, time.Hour, "t-tikv-0")
			given(c, "t-tikv-0", time.Hour, discarded)
			c.Removing("t-tikv-0", time.Minute)
		})},
	})
}

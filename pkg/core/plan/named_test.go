package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestNamed: members that a user has named restart as in a rollout, and after one.
func TestNamed(t *testing.T) {
	plantest.Table(t, "named", []plantest.Case{
		{Name: "a server", Cluster: named("t-tidb-1")},
		{Name: "two servers, from the highest ordinal", Cluster: named("t-tidb-0", "t-tidb-1")},
		{Name: "a store, whose leaders leave first", Cluster: named("t-tikv-1")},
		{Name: "a store without leaders", Cluster: named("t-tikv-1").Evicting("t-tikv-1", time.Minute, 0)},
		{Name: "two stores, and the leaders of the lower ordinal leave already", Cluster: named("t-tikv-1", "t-tikv-3").Evicting("t-tikv-1", time.Minute, 2)},
		{Name: "the leader of PD, which moves first", Cluster: named("t-pd-0")},
		{Name: "all of PD: the leader stays until its turn", Cluster: named("t-pd-0", "t-pd-1", "t-pd-2")},
		{Name: "of two components", Cluster: named("t-pd-2", "t-tidb-0")},
		{Name: "a peer is down", Cluster: named("t-tikv-1").Down(time.Minute, "t-tikv-2")},
		{Name: "it is terminating", Cluster: edit(named("t-tidb-1"), func(c *plantest.Cluster) {
			p := c.Member("t-tidb-1").Pod
			p.Terminating, p.Since = true, plantest.Now
		})},
		{Name: "its pod is gone", Cluster: edit(named("t-tidb-1", "t-tidb-0"), func(c *plantest.Cluster) { c.Member("t-tidb-1").Pod = nil })},
		{Name: "its pod is another one", Cluster: edit(named("t-tidb-1"), func(c *plantest.Cluster) { c.Member("t-tidb-1").Pod.UID = "next" })},
		{Name: "its next pod is not up yet", Cluster: edit(named("t-tidb-1", "t-tidb-0"), func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Pod.UID = "next"
			c.Down(time.Minute, "t-tidb-1")
		})},
		{Name: "it does not run", Cluster: named("t-tidb-1").Down(time.Hour, "t-tidb-1")},
		{Name: "the only server, and it does not run", Cluster: edit(plantest.New(3, 4, 1), func(c *plantest.Cluster) {
			name(c, "t-tidb-0")
			c.Down(time.Hour, "t-tidb-0")
		})},
		{Name: "a store that is down", Cluster: named("t-tikv-1").Down(time.Hour, "t-tikv-1")},
		{Name: "its component is rolled out, and does not reach it yet", Cluster: named("t-tidb-0").Roll(tidb).Rolled(tidb, 2)},
		{Name: "the rollout has restarted it before", Cluster: named("t-tidb-2").Roll(tidb).Rolled(tidb, 2)},
		{Name: "the rollout has restarted it, it does not serve since, and neither does the next one", Cluster: named("t-tikv-3").Roll(tikv).Rolled(tikv, 3).Down(3*time.Minute, "t-tikv-2", "t-tikv-3")},
		{Name: "the rollout is not noted as finished", Cluster: named("t-tidb-2").Roll(tidb).Rolled(tidb, 0, 1, 2)},
		{Name: "the partition is still open", Cluster: edit(named("t-tidb-2"), func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { s.Partition = 0 })
		})},
		{Name: "the template differs", Cluster: edit(named("t-tidb-2"), func(c *plantest.Cluster) { c.Want(tidb).Set.Drift = desired.Differs })},
		{Name: "with OnDelete", Cluster: manual(named("t-tidb-1"))},
		{Name: "with OnDelete, where others are outdated", Cluster: manual(named("t-tidb-1").Roll(tidb))},
		{Name: "OnDelete was set by hand, and others are outdated", Cluster: byHand(named("t-tidb-1").Roll(tidb))},
		{Name: "OnDelete was set by hand, and it does not run", Cluster: byHand(named("t-tidb-1").Roll(tidb).Down(time.Hour, "t-tidb-1"))},
		{Name: "a store, OnDelete was set by hand, and others are outdated", Cluster: edit(named("t-tikv-1").Roll(tikv), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Manual = true })
		})},
		{Name: "it is to leave", Cluster: edit(named("t-tikv-3"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
		{Name: "restarted pods have to be ready for a while", Cluster: edit(named("t-tidb-0"), func(c *plantest.Cluster) {
			c.Want(tidb).MinReady = 30 * time.Second
			c.Member("t-tidb-1").Pod.Since = plantest.Now.Add(-10 * time.Second)
		})},
	})
}

// named returns a cluster of which a user has named members to restart.
func named(names ...string) *plantest.Cluster { return name(plantest.New(3, 4, 3), names...) }

func name(c *plantest.Cluster, names ...string) *plantest.Cluster {
	for _, n := range names {
		m := c.Member(n)
		g := c.Want(m.Kind)
		if g.Restarts == nil {
			g.Restarts = map[string]topology.MemberRestart{}
		}
		g.Restarts[n] = topology.MemberRestart{Pod: m.Pod.UID, At: plantest.Now.Add(-time.Minute)}
	}
	return c
}

func edit(c *plantest.Cluster, changes ...func(*plantest.Cluster)) *plantest.Cluster {
	for _, change := range changes {
		change(c)
	}
	return c
}

// byHand has a user set OnDelete in the StatefulSet, and not in the spec.
func byHand(c *plantest.Cluster) *plantest.Cluster {
	return c.Set(tidb, func(s *state.Set) { s.Manual = true })
}

func manual(c *plantest.Cluster) *plantest.Cluster {
	c.Want(tidb).Manual = true
	return c.Set(tidb, func(s *state.Set) { s.Manual = true })
}

// TestNamedKeepsRevision: the step says which revision the next pod has. So a member that was named gets no other
// revision.
func TestNamedKeepsRevision(t *testing.T) {
	for name, tt := range map[string]struct {
		c    *plantest.Cluster
		want string
	}{
		"as it is":                          {named("t-tidb-1"), "v1"},
		"by a rollout":                      {named("t-tidb-2").Roll(tidb), ""},
		"with OnDelete":                     {manual(named("t-tidb-1")), "v1"},
		"with OnDelete, and a new template": {manual(named("t-tidb-1").Roll(tidb)), "v2"},
	} {
		steps := tt.c.Decide().Steps
		r, ok := steps[len(steps)-1].(step.Restart)
		if !ok || r.Revision != tt.want {
			t.Errorf("%s: %#v, want revision %q", name, steps, tt.want)
		}
	}
}

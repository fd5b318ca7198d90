package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// canary returns a cluster with a canary of some members of a component. The pods of that component and of TiDB are to
// be replaced.
func canary(k topology.Kind, members int, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.NewProxies(3, 4, 3, 2)
	c.Want(k).Held, c.Want(k).Canary, c.Want(k).Version = true, members, "v8.1.1"
	c.Roll(k).Roll(tidb)
	for _, change := range changes {
		change(c)
	}
	return c
}

// unreadable makes the annotation of a canary one that cannot be followed.
func unreadable(c *plantest.Cluster) {
	for i := range c.Wanted.Groups {
		c.Wanted.Groups[i].Held, c.Wanted.Groups[i].Canary = true, 0
	}
	c.Wanted.Cluster.CanaryProblem = `"tikv" is no component and number of members, such as tikv=1`
}

func TestCanary(t *testing.T) {
	rolled := func(k topology.Kind, ordinals ...int) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Rolled(k, ordinals...) }
	}
	down := func(name string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Down(time.Hour, name) }
	}
	size := func(n int) func(*plantest.Cluster) { return func(c *plantest.Cluster) { c.Want(tikv).Replicas = n } }
	plantest.Waits(t, "canary", []plantest.Case{
		{Name: "a component before it is rolled out whole", Cluster: canary(tikv, 1, func(c *plantest.Cluster) { c.Roll(pd).Rolled(pd, 1, 2) })},
		{Name: "its first member, after its leaders", Cluster: canary(tikv, 1)},
		{Name: "it holds, and later components wait", Cluster: canary(tikv, 1, rolled(tikv, 3))},
		{Name: "it holds, and a member above keeps old volumes", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) {
			c.Member("t-tikv-2").Pod.Mounts = map[string]string{"log": "/log"}
		})},
		{Name: "of two members, the second one follows", Cluster: canary(tidb, 2, rolled(tidb, 2))},
		{Name: "its member does not serve", Cluster: canary(tikv, 1, rolled(tikv, 3), down("t-tikv-3"))},
		{Name: "its leaders are not back", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) {
			c.Recorded("t-tikv-3", 2*time.Minute)
			c.Seen.Evictions[0].Leaders, c.Seen.Evictions[0].Ended = 40, plantest.Now.Add(-time.Minute)
		})},
		{Name: "its server has to be ready for a while", Cluster: canary(tidb, 1, rolled(tidb, 2), func(c *plantest.Cluster) {
			c.Want(tidb).MinReady = 30 * time.Second
			c.Member("t-tidb-2").Pod.Since = plantest.Now.Add(-10 * time.Second)
		})},
		{Name: "an eviction for the next restart is ended", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-2", time.Minute, 3)
		})},
		{Name: "promoted", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) { c.Want(tikv).Held = false })},
		{Name: "a member below it is down, and is not repaired with the new revision", Cluster: canary(tikv, 1, rolled(tikv, 3), down("t-tikv-1"))},
		{Name: "a server below it crashes, and is not repaired with the new revision", Cluster: canary(tidb, 1, rolled(tidb, 2), down("t-tidb-0"))},
		{Name: "a member of a later component is down, and is not repaired with the new revision",
			Cluster: canary(tikv, 1, rolled(tikv, 3), down("t-tidb-2"))},
		{Name: "one of a component that others do not need is held, and a later one is down",
			Cluster: canary(topology.TiProxy, 1, rolled(topology.TiProxy, 1), func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Hour, "t-tikv-3") })},
		{Name: "scaled out, the new member is a canary too", Cluster: canary(tikv, 1, rolled(tikv, 3), size(5))},
		{Name: "scaled in, the canary leaves", Cluster: canary(tikv, 1, rolled(tikv, 3), size(3))},
		{Name: "scaled in to fewer, the last one is held", Cluster: canary(topology.TiProxy, 3, rolled(topology.TiProxy, 1))},
		{Name: "another template comes", Cluster: canary(tikv, 1, func(c *plantest.Cluster) {
			c.Rolled(tikv, 3).Set(tikv, func(s *state.Set) { s.UpdateRevision = "v3" })
		})},
		{Name: "it is asked for when two are updated already", Cluster: canary(tikv, 1, rolled(tikv, 2, 3))},
		{Name: "another process has lowered the partition, and all are updated", Cluster: canary(tikv, 1, rolled(tikv, 0, 1, 2, 3))},
		{Name: "the StatefulSet was recreated", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.CurrentRevision, s.Partition = "v2", 4 })
		})},
		{Name: "volumes that are to grow wait", Cluster: canary(tikv, 1, rolled(tikv, 3), func(c *plantest.Cluster) {
			c.Want(tikv).Volumes = []topology.Volume{{Name: "tikv", Size: 2 << 30}}
		})},
		{Name: "there is nothing to roll out", Cluster: with(func(c *plantest.Cluster) { c.Want(tikv).Held, c.Want(tikv).Canary = true, 1 })},
		{Name: "it cannot be followed, and nothing is restarted", Cluster: canary(tikv, 1, unreadable)},
		{Name: "it cannot be followed, and a member is down", Cluster: canary(tikv, 1, unreadable, down("t-tikv-1"))},
		{Name: "it cannot be followed, and there is nothing to roll out", Cluster: with(unreadable)},
		{Name: "a user names its member, and one that is held", Cluster: canary(tidb, 1, rolled(tidb, 2), func(c *plantest.Cluster) {
			name(c, "t-tidb-2", "t-tidb-0")
		})},
		{Name: "OnDelete: the others are not asked for", Cluster: canary(tidb, 1, rolled(tidb, 2), func(c *plantest.Cluster) {
			c.Want(tidb).Manual = true
			c.Set(tidb, func(s *state.Set) { s.Manual = true }).Down(time.Hour, "t-tidb-0")
		})},
	})
}

// TestCanaryOutcome: a run ends at a canary with the outcome Canary. Where something is wrong besides, the outcome is
// Blocked.
func TestCanaryOutcome(t *testing.T) {
	held := canary(tikv, 1, func(c *plantest.Cluster) { c.Rolled(tikv, 3) })
	if p := held.Decide(); p.Outcome != plan.Canary || !p.Deadline().IsZero() || p.Polls() {
		t.Errorf("%s, due at %v", p.Outcome, p.Deadline())
	}
	held.Seen.At = held.Seen.At.Add(24 * time.Hour) // it has no end
	if p := held.Decide(); p.Outcome != plan.Canary {
		t.Errorf("after a day: %s", p.Outcome)
	}
	lacks := canary(tikv, 1, func(c *plantest.Cluster) { c.Rolled(tikv, 3) })
	lacks.Want(pd).Lacks = []desired.Lack{{Want: "ConfigMap t-pd", Remedy: remedy.Remedy{remedy.Say("make it")}}}
	lacks.Roll(pd)
	if p := lacks.Decide(); p.Outcome != plan.Blocked {
		t.Errorf("with a gate that is blocked: %s", p.Outcome)
	}
	bad := with(unreadable)
	if found := bad.Decide().Notices; len(found) != 1 || len(found[0].Remedy) != 2 {
		t.Errorf("findings %+v", found)
	}
}

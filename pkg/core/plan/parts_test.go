package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOtherPart: while another part of the database takes members away, no member here is taken away. Everything else
// goes on, also the restart of a member that is known not to serve.
func TestOtherPart(t *testing.T) {
	plantest.Table(t, "otherpart", []plantest.Case{
		{Name: "nothing to do", Cluster: locked()},
		{Name: "a store", Cluster: locked(func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "a store whose leaders have left", Cluster: locked(func(c *plantest.Cluster) { c.Roll(tikv).Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "a store whose process does not run", Cluster: locked(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-3") })},
		{Name: "PD", Cluster: locked(func(c *plantest.Cluster) { c.Roll(pd) })},
		{Name: "a server", Cluster: locked(func(c *plantest.Cluster) { c.Roll(tidb) })},
		{Name: "scale-out", Cluster: locked(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 })},
		{Name: "scale-in of a store", Cluster: locked(func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
		{Name: "an eviction to end", Cluster: locked(func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
	})
}

// locked returns a cluster beside another part that has the lock.
func locked(changes ...func(*plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 3)
	c.Seen.PD.Shared, c.Seen.PD.LockedBy = true, "part db/other takes members of the database away"
	for _, change := range changes {
		change(c)
	}
	return c
}

// TestNeedsLock: only steps that take away a member of a database with other parts need the lock.
func TestNeedsLock(t *testing.T) {
	for name, tt := range map[string]struct {
		shared bool
		change func(*plantest.Cluster)
		want   bool
	}{
		"a store":                           {true, func(c *plantest.Cluster) { c.Roll(tikv) }, true},
		"the only part":                     {false, func(c *plantest.Cluster) { c.Roll(tikv) }, false},
		"a store whose process is gone":     {true, func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-3") }, false},
		"a server":                          {true, func(c *plantest.Cluster) { c.Roll(tidb) }, false},
		"a new store":                       {true, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, false},
		"a store that leaves":               {true, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 }, true},
		"PD without a leader for a while":   {true, func(c *plantest.Cluster) { c.Roll(pd); c.Seen.PD.Leaderless = true }, false},
		"a service, before a store restart": {true, func(c *plantest.Cluster) { c.Roll(tikv); c.Want(tikv).Services[0].Drift = 1 }, false},
	} {
		c := plantest.New(3, 4, 3)
		c.Seen.PD.Shared = tt.shared
		tt.change(c)
		if p := c.Decide(); p.NeedsLock() != tt.want {
			t.Errorf("%s: %t: %v", name, p.NeedsLock(), p.Steps)
		}
	}
}

// TestStillAway: the lock is kept until a member that was taken away serves with another pod, or other parts can see that
// it is down. The pod is deleted only after the step, so an old pod that serves proves nothing.
func TestStillAway(t *testing.T) {
	rolled := func(c *plantest.Cluster) {
		c.Roll(tikv)
		g := c.Seen.Groups[tikv]
		g.Set.Partition = 3
		c.Seen.Groups[tikv] = g
	}
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster, *state.Member)
		since  time.Duration
		want   bool
	}{
		"old pod, still serving, soon replaced":  {func(c *plantest.Cluster, _ *state.Member) { rolled(c) }, time.Hour, true},
		"old pod, still serving, just asked for": {func(*plantest.Cluster, *state.Member) {}, time.Second, true},
		"old pod, and the step has failed":       {func(*plantest.Cluster, *state.Member) {}, time.Hour, false},
		"pod terminating":                        {func(_ *plantest.Cluster, m *state.Member) { m.Pod.Terminating = true }, time.Hour, true},
		"pod gone":                               {func(_ *plantest.Cluster, m *state.Member) { m.Pod = nil }, time.Hour, true},
		"new pod that starts":                    {func(_ *plantest.Cluster, m *state.Member) { m.Pod.UID, m.Pod.Ready = "new", false }, time.Second, true},
		"new pod that serves":                    {func(_ *plantest.Cluster, m *state.Member) { m.Pod.UID = "new" }, time.Second, false},
		"PD calls it Disconnected": {func(_ *plantest.Cluster, m *state.Member) {
			m.Pod = nil
			m.Database.Healthy, m.Database.State = false, state.StoreDisconnected
		}, time.Second, false},
		"PD still calls it Up": {func(_ *plantest.Cluster, m *state.Member) {
			m.Pod = nil
			m.Database.Healthy = false
		}, time.Second, true},
	} {
		c := plantest.New(3, 4, 3)
		m := c.Member("t-tikv-3")
		away := plan.Away{Kind: tikv, Member: m.Name, PodUID: m.Pod.UID, Since: plantest.Now.Add(-tt.since)}
		tt.change(c, m)
		if got := plan.StillAway(c.Seen, away); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if plan.StillAway(plantest.New(3, 4, 3).Seen, plan.Away{Kind: tikv, Member: "t-tikv-9"}) {
		t.Error("a member that was removed is awaited")
	}
}

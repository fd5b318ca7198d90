package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
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
		"a server":                          {true, func(c *plantest.Cluster) { c.Roll(tidb) }, true},
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

// TestTakenAway: a member counts as taken away if its pod went, or is new, since the lock was taken.
func TestTakenAway(t *testing.T) {
	since := plantest.Now.Add(-time.Minute)
	for name, tt := range map[string]struct {
		change func(*plantest.Cluster)
		want   bool
	}{
		"all serve":   {func(*plantest.Cluster) {}, false},
		"down before": {func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-3") }, false},
		"pod terminating": {func(c *plantest.Cluster) {
			c.Down(time.Second, "t-tikv-3")
			c.Member("t-tikv-3").Pod.Terminating = true
		}, true},
		"a new pod that does not serve": {func(c *plantest.Cluster) {
			c.Down(time.Second, "t-tikv-3")
			c.Member("t-tikv-3").Pod.Made = plantest.Now.Add(-time.Second)
		}, true},
		"pod gone": {func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Pod, c.Member("t-tikv-3").Gone = nil, plantest.Now
		}, true},
	} {
		c := plantest.New(3, 4, 3)
		tt.change(c)
		if got := plan.TakenAway(c.Seen, since); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

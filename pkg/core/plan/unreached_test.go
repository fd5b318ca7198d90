package plan_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLeaderUnreached: nothing about PD is restarted, removed, deleted or scaled because PD's leader cannot be asked
// from here. Nor is it because so many members cannot be asked that they may be a quorum. Whatever there is to do, the
// plan says who cannot be reached, and what a person can do.
func TestLeaderUnreached(t *testing.T) {
	started := func(c *plantest.Cluster, ago time.Duration, names ...string) *plantest.Cluster {
		for _, n := range names {
			c.Member(n).Pod.Started = plantest.Now.Add(-ago)
		}
		return c
	}
	stopped := func(c *plantest.Cluster, name string, ago time.Duration) *plantest.Cluster {
		p := c.Member(name).Pod
		p.Ready, p.Ran, p.Started, p.Since = false, true, time.Time{}, plantest.Now.Add(-ago)
		return c
	}
	roll := func(rolled ...int) *plantest.Cluster { return plantest.New(3, 3, 2).Roll(pd).Rolled(pd, rolled...) }
	for name, c := range map[string]*plantest.Cluster{
		"nothing to do":                    plantest.New(3, 3, 2),
		"a rollout begins":                 roll(),
		"a member has restarted":           started(roll(2), 40*time.Second, "t-pd-2"),
		"only the leader is left":          started(roll(2, 1), 40*time.Second, "t-pd-1", "t-pd-2"),
		"the new template crashes":         stopped(roll(2), "t-pd-2", 11*time.Minute),
		"the new template does not run":    stopped(roll(2), "t-pd-2", time.Hour),
		"a member does not run":            stopped(roll(), "t-pd-1", time.Hour),
		"no member here runs":              stopped(stopped(stopped(roll(), "t-pd-0", time.Hour), "t-pd-1", time.Hour), "t-pd-2", time.Hour),
		"a member crashes again and again": crashed(roll(), "t-pd-2", 8, 25*time.Minute, 20*time.Second, 20*time.Second, 0),
		"restarts are left to the user":    roll().Set(pd, func(s *state.Set) { s.Manual = true }),
		"the pods have gone":               with(func(c *plantest.Cluster) { c.Roll(pd); c.Member("t-pd-2").Pod = nil }),
		"PD is scaled out":                 with(func(c *plantest.Cluster) { c.Want(pd).Replicas = 5 }),
		"PD is scaled in":                  with(func(c *plantest.Cluster) { c.Want(pd).Replicas = 2 }),
		"others have lowered the replicas": with(func(c *plantest.Cluster) {
			c.Set(pd, func(s *state.Set) { s.Replicas, s.Partition = 2, 2 })
			c.Member("t-pd-2").Pod = nil
		}),
		"a member was given up":  with(func(c *plantest.Cluster) { given(c, "t-pd-2", time.Hour) }),
		"its claims are marked":  with(func(c *plantest.Cluster) { c.Member("t-pd-1").Claims[0].Marked = true }),
		"its claims are deleted": with(func(c *plantest.Cluster) { c.Member("t-pd-1").Claims[0].Terminating = true }),
	} {
		for what, names := range map[string][]string{"the leader": {"t-pd-0"}, "a quorum": {"t-pd-0", "t-pd-1"}, "one elsewhere": {"other-pd-0"}} {
			c.Unreached(names...)
			p := c.Decide()
			for _, s := range p.Steps {
				if k, _ := s.Target(); k == pd {
					t.Errorf("%s, %s cannot be reached: %s", name, what, s)
				}
			}
			found := false
			for _, g := range p.Gates {
				if g.Reason != plan.PDLeaderReachable {
					continue
				}
				found = true
				if g.Component != pd || !strings.Contains(g.String(), "cannot be reached from here") || len(g.Remedy) == 0 {
					t.Errorf("%s, %s cannot be reached: %s; %v", name, what, g, g.Remedy)
				}
				if member := (map[string]string{"the leader": "t-pd-0"})[what]; g.Member != member {
					t.Errorf("%s, %s cannot be reached: the gate names %q", name, what, g.Member)
				}
			}
			if !found {
				t.Errorf("%s, %s cannot be reached: no gate says so:\n%s", name, what, plantest.Text(p))
			}
		}
	}
}

// TestMemberWithoutALeader: a member that has said itself for long that it follows no leader is in no quorum. It is
// repaired, by the rules of a PD without a leader, and no other member is.
func TestMemberWithoutALeader(t *testing.T) {
	for unled, want := range map[string]string{"t-pd-2": "t-pd-2", "t-pd-1": "", "": ""} {
		c := plantest.New(3, 3, 2).Roll(pd).Unreached("t-pd-0", "t-pd-1")
		c.Seen.PD.Unled = []string{unled}
		var got string
		for _, s := range c.Decide().Steps {
			r, ok := s.(step.Restart)
			if got = r.Member; !ok || !r.Leaderless {
				t.Errorf("%s follows no leader: %+v", unled, s)
			}
		}
		if got != want {
			t.Errorf("%q follows no leader: %q is restarted, want %q", unled, got, want)
		}
	}
}

// TestMemberWithoutALeaderBelow: the rollout reaches a member that follows no leader only after a member of which PD
// cannot be asked. A person is asked to recreate the StatefulSet and the pod.
func TestMemberWithoutALeaderBelow(t *testing.T) {
	c := plantest.New(3, 3, 2).Roll(pd).Unreached("t-pd-0", "t-pd-2")
	c.Seen.PD.Unled = []string{"t-pd-1"}
	p := c.Decide()
	i := slices.IndexFunc(p.Gates, func(g plan.Gate) bool { return g.Member == "t-pd-1" && g.Blocked })
	if i < 0 || !strings.Contains(p.Gates[i].Remedy.Line(""), "delete statefulset t-pd") || len(p.Steps) > 0 {
		t.Error(plantest.Text(p))
	}
}

// TestMemberWithoutALeaderByHand: with OnDelete a person is asked to delete the pod of a member that follows no leader.
// Without that the run would only name members that cannot be reached from here.
func TestMemberWithoutALeaderByHand(t *testing.T) {
	for unled, want := range map[string]bool{"t-pd-2": true, "": false} {
		c := plantest.New(3, 3, 2).Roll(pd).Unreached("t-pd-0", "t-pd-1")
		c.Set(pd, func(s *state.Set) { s.Manual = true })
		c.Seen.PD.Unled = []string{unled}
		asked := slices.ContainsFunc(c.Decide().Gates, func(g plan.Gate) bool {
			return g.Blocked && g.Member == "t-pd-2" && strings.Contains(g.Remedy.Line(""), "delete pod t-pd-2")
		})
		if asked != want {
			t.Errorf("%q follows no leader:\n%s", unled, c.Text())
		}
	}
}

// TestUnreachedAndTheOthers: with PD's leader out of reach the other components wait as for a PD that does not serve. A
// template of PD is uploaded without a restart.
func TestUnreachedAndTheOthers(t *testing.T) {
	remedies := func(c *plantest.Cluster) *plantest.Cluster { return c.Unreached("t-pd-0") }
	secure := with(func(c *plantest.Cluster) { c.Wanted.Cluster.TLS.Members = true })
	plantest.Waits(t, "unreached", []plantest.Case{
		{Name: "all have a rollout", Cluster: remedies(with(func(c *plantest.Cluster) { c.Roll(pd).Roll(tikv).Roll(tidb) }))},
		{Name: "with TLS", Cluster: remedies(secure)},
		{Name: "a leader elsewhere", Cluster: with().Unreached("basic-pd-0.basic-pd-peer.db.svc.two.local")},
		{Name: "a new template", Cluster: remedies(with(func(c *plantest.Cluster) { c.Want(pd).Set.Drift = desired.Differs }))},
	})
}

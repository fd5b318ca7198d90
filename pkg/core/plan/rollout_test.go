package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestRollout(t *testing.T) {
	plantest.Waits(t, "rollout", []plantest.Case{
		{Name: "the template differs", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Config[0].Drift, c.Want(tidb).Set.Drift = desired.Differs, desired.Differs
		})},
		{Name: "from the highest ordinal", Cluster: with(func(c *plantest.Cluster) { c.Roll(tidb) })},
		{Name: "the next one", Cluster: with(func(c *plantest.Cluster) { c.Roll(tidb).Rolled(tidb, 2) })},
		{Name: "the restarted one is not up yet", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2).Down(time.Minute, "t-tidb-2")
		})},
		{Name: "the restarted one does not come", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2).Down(11*time.Minute, "t-tidb-2")
		})},
		{Name: "the restarted one is not asked", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2)
			c.Member("t-tidb-2").Database = state.Database{}
		})},
		{Name: "its pod is going", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 1, 2)
			p := c.Member("t-tidb-1").Pod
			p.Terminating, p.Since = true, plantest.Now
		})},
		{Name: "its pod is gone", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 1, 2)
			c.Member("t-tidb-1").Pod = nil
		})},
		{Name: "Kubernetes has not replaced the pod yet", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Set(tidb, func(s *state.Set) { s.Partition = 2 })
		})},
		{Name: "restarted pods have to be ready for a while", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).MinReady = 30 * time.Second
			c.Roll(tidb).Rolled(tidb, 2)
			c.Member("t-tidb-2").Pod.Since = plantest.Now.Add(-10 * time.Second)
		})},
		{Name: "pods that were not restarted need not be ready for a while", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).MinReady = 30 * time.Second
			c.Roll(tidb).Rolled(tidb, 2)
			c.Member("t-tidb-0").Pod.Since = plantest.Now.Add(-10 * time.Second)
		})},
		{Name: "restarted pods were ready for a while", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).MinReady = 30 * time.Second
			c.Roll(tidb).Rolled(tidb, 2)
			c.Member("t-tidb-2").Pod.Since = plantest.Now.Add(-30 * time.Second)
		})},
		{Name: "done, Kubernetes has not noticed", Cluster: with(func(c *plantest.Cluster) { c.Roll(tidb).Rolled(tidb, 0, 1, 2) })},
		{Name: "done", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 0, 1, 2).Set(tidb, func(s *state.Set) { s.CurrentRevision = "v2" })
		})},
		{Name: "done, but one is down", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 0, 1, 2).Down(time.Minute, "t-tidb-1")
			c.Set(tidb, func(s *state.Set) { s.CurrentRevision = "v2" })
		})},
		{Name: "pd-A15: pods are the user's to replace", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Manual = true
			c.Roll(tidb).Set(tidb, func(s *state.Set) { s.Manual = true })
		})},
		{Name: "tikv-11-18: users replace pods themselves", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Set(tidb, func(s *state.Set) { s.Manual = true })
		})},
		{Name: "tidb-S5: pods are the user's to replace, and were", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Manual = true
			c.Roll(tidb).Rolled(tidb, 0, 1, 2).Set(tidb, func(s *state.Set) { s.Manual = true })
		})},
	})
}

func TestRepair(t *testing.T) {
	plantest.Table(t, "repair", []plantest.Case{
		{Name: "the one to be restarted next is down", Cluster: with(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-3") })},
		{Name: "it is down, and the template is not there yet", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-3")
			c.Want(tikv).Set.Drift = desired.Differs
		})},
		{Name: "a lower one is down", Cluster: with(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-1") })},
		{Name: "another one fails with the new revision", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-3", "t-tikv-2")
		})},
		{Name: "another one has the new revision, and PD takes its regions away", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Offline("t-tikv-3").Down(time.Minute, "t-tikv-2")
		})},
		{Name: "another one has the new revision, PD takes its regions away, and it has just started", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Offline("t-tikv-3").Down(time.Minute, "t-tikv-2")
			c.Member("t-tikv-3").Pod.Started = plantest.Now.Add(-time.Second)
		})},
		{Name: "another one runs with the new revision for a moment between two crashes", Cluster: crashed(with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-2")
		}), "t-tikv-3", 6, 5*time.Minute, 5*time.Second, 160*time.Second, 5*time.Second)},
		{Name: "another one serves with the new revision", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Minute, "t-tikv-2")
		})},
		{Name: "one fails with the new revision, with which another has long served", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3).Down(time.Minute, "t-tikv-2", "t-tikv-1")
		})},
		{Name: "one fails with the new revision, with which another has served for a moment", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3).Down(time.Minute, "t-tikv-2", "t-tikv-1")
			c.Member("t-tikv-3").Pod.Started = plantest.Now.Add(-time.Minute)
		})},
		{Name: "one fails with the new revision, with which another has served for just long enough", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3).Down(time.Minute, "t-tikv-2", "t-tikv-1")
			c.Member("t-tikv-3").Pod.Started = plantest.Now.Add(-2 * time.Minute)
		})},
		{Name: "one fails with the new revision, with which another serves between two crashes", Cluster: crashed(with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3).Down(time.Minute, "t-tikv-2", "t-tikv-1")
		}), "t-tikv-3", 6, time.Hour, 5*time.Minute, 10*time.Second, 3*time.Minute)},
		{Name: "one fails with the new revision, with which another has served until just now", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3).Down(time.Minute, "t-tikv-2", "t-tikv-1")
			c.Member("t-tikv-3").Pod.Started = time.Time{} // it has ended, and Kubernetes has not noticed yet
		})},
		{Name: "it is going already", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-3")
			c.Member("t-tikv-3").Pod.Terminating = true
		})},
		{Name: "it cannot even be created as it was", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-3")
			c.Member("t-tikv-3").Pod = nil
		})},
		{Name: "an earlier component is being rolled", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Rolled(pd, 2).Down(time.Minute, "t-pd-2")
			c.Roll(tikv).Down(time.Minute, "t-tikv-3")
		})},
		{Name: "an earlier component has not begun its rollout", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-3").Roll(tikv)
			c.Set(pd, func(s *state.Set) { s.Observed = false })
		})},
		{Name: "it could not be asked", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb)
			c.Member("t-tidb-2").Database = state.Database{Problem: "connection refused"}
		})},
		{Name: "it gives its regions up and serves", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv)
			c.Want(tikv).Replicas = 3
			m := c.Member("t-tikv-3")
			m.Database.State, m.Database.Healthy = state.StoreOffline, false
		})},
		{Name: "it runs but the database does not see it", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv)
			m := c.Member("t-tikv-3")
			m.Database.State, m.Database.Healthy = state.StoreDisconnected, false
		})},
		{Name: "its removal is all but done", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-3")
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
		})},
		{Name: "pods are the user's to replace", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-3").Set(tikv, func(s *state.Set) { s.Manual = true })
		})},
	})
}

// leaderless returns a PD that has lost its quorum: its processes run, and the given ordinals have
// the new revision.
func leaderless(ago time.Duration, rolled ...int) *plantest.Cluster {
	c := with(func(c *plantest.Cluster) { c.Roll(pd).Rolled(pd, rolled...).PDUnknown() })
	c.Seen.PD.Problem, c.Seen.PD.Leaderless = "PD has no leader", true
	for i := range c.Seen.Groups[pd].Members {
		p := c.Seen.Groups[pd].Members[i].Pod
		p.Since, p.Started = plantest.Now.Add(-ago), plantest.Now.Add(-ago)
	}
	return c
}

func TestLeaderless(t *testing.T) {
	fails := func(c *plantest.Cluster, name string, ago time.Duration, ran bool) *plantest.Cluster {
		p := c.Member(name).Pod
		p.Ready, p.Ran, p.Started, p.Since = false, ran, time.Time{}, plantest.Now.Add(-ago)
		return c
	}
	plantest.Table(t, "leaderless", []plantest.Case{
		{Name: "just now: it may be an election", Cluster: leaderless(time.Minute)},
		{Name: "for just as long as an election is given", Cluster: leaderless(2 * time.Minute)},
		{Name: "for long", Cluster: leaderless(time.Hour)},
		{Name: "no member could be asked", Cluster: with(func(c *plantest.Cluster) { c.Roll(pd).PDUnknown() })},
		{Name: "the first one does not run", Cluster: fails(leaderless(time.Hour), "t-pd-2", time.Minute, true)},
		{Name: "the restarted one runs, but not for long", Cluster: func() *plantest.Cluster {
			c := leaderless(time.Hour, 2)
			c.Member("t-pd-2").Pod.Started = plantest.Now.Add(-20 * time.Second)
			return c
		}()},
		{Name: "the restarted one runs", Cluster: func() *plantest.Cluster {
			c := leaderless(time.Hour, 2)
			c.Member("t-pd-2").Pod.Started = plantest.Now.Add(-40 * time.Second)
			return c
		}()},
		{Name: "the restarted one runs, another has just crashed", Cluster: func() *plantest.Cluster {
			c := leaderless(time.Hour, 2)
			return fails(c, "t-pd-0", 10*time.Second, true)
		}()},
		{Name: "the restarted one cannot even start", Cluster: fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, false)},
		{Name: "the restarted one crashes", Cluster: fails(leaderless(5*time.Minute, 2), "t-pd-2", 5*time.Minute, true)},
		{Name: "the restarted one crashes for want of the others", Cluster: fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, true)},
		{Name: "the same, and another one crashes again and again after 30 s", Cluster: crashed(fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, true), "t-pd-1", 8, 25*time.Minute, 30*time.Second, 20*time.Second, 0)},
		{Name: "the same, and the other one may have served in between", Cluster: crashed(fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, true), "t-pd-1", 8, 25*time.Minute, 31*time.Second, 20*time.Second, 0)},
		{Name: "the same, and the other one has just been started again", Cluster: crashed(fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, true), "t-pd-1", 8, 25*time.Minute, 3*time.Minute, 10*time.Second, 2*time.Second)},
		{Name: "the same, and its pod has not been ready for long", Cluster: func() *plantest.Cluster {
			c := crashed(fails(leaderless(time.Hour, 2), "t-pd-2", 20*time.Minute, true), "t-pd-1", 8, 25*time.Minute, 3*time.Minute, 10*time.Second, 2*time.Second)
			p := c.Member("t-pd-1").Pod
			p.Ready, p.Since = false, plantest.Now.Add(-time.Hour)
			return c
		}()},
	})
}

// TestBlockedOnlyAfterAnElection: while PD may be in an election nobody is asked for help with its members. What is
// done for a PD without a leader, such as to bring back members whose pods were taken away, comes after the election.
func TestBlockedOnlyAfterAnElection(t *testing.T) {
	for electing, want := range map[bool]plan.Outcome{true: plan.Wait, false: plan.Blocked} {
		c := plantest.New(3, 3, 2).PDUnknown()
		c.Seen.PD.Problem, c.Seen.PD.Electing = "PD has no leader", electing
		for _, name := range []string{"t-pd-0", "t-pd-1", "t-pd-2"} {
			p := c.Member(name).Pod
			p.Ready, p.Ran, p.Started, p.Since = false, true, time.Time{}, plantest.Now.Add(-20*time.Minute)
		}
		if got := c.Decide(); got.Outcome != want {
			t.Errorf("electing %t: got %s, want %s, by %v", electing, got.Outcome, want, got.Gates)
		}
	}
}

// TestLeadersEvictedForRestart: a restart names the store only where its leaders have left it for that. A record of an
// eviction that PD does not have any more is no proof.
func TestLeadersEvictedForRestart(t *testing.T) {
	for name, tt := range map[string]struct {
		c       *plantest.Cluster
		evicted bool
	}{
		"they have left": {plantest.New(3, 4, 2).Roll(tikv).Evicting("t-tikv-3", time.Minute, 0), true},
		"there is none to move to, and PD forgot the eviction": {plantest.New(3, 1, 2).Roll(tikv).Recorded("t-tikv-0", time.Minute), false},
		"there is none to move to":                             {plantest.New(3, 1, 2).Roll(tikv), false},
	} {
		for _, s := range tt.c.Decide().Steps {
			if r, ok := s.(step.Restart); ok && (r.StoreID != 0) == tt.evicted {
				tt.c = nil
			}
		}
		if tt.c != nil {
			t.Errorf("%s: %s", name, tt.c.Text())
		}
	}
}

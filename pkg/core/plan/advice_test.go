package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

func TestFailoverAdvised(t *testing.T) {
	for name, tc := range map[string]struct {
		c    *plantest.Cluster
		want string
	}{
		"due":     {with(func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-1") }), "replace it: kubectl tidb failover t run -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"},
		"not due": {with(func(c *plantest.Cluster) { lost(c, 31*time.Minute, "t-tikv-1") }), "see why: kubectl describe pod t-tikv-1 -n ns"},
		"no use":  {with(func(c *plantest.Cluster) { lost(c, time.Hour, "t-tikv-1"); c.Want(tikv).MaxFailures = 0 }), "see why: kubectl describe pod t-tikv-1 -n ns"},
		"recorded": {with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Want(tikv).Recover = true
		}), "if it never comes back: kubectl tidb failover t run --component tikv --discard t-tikv-1 -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"},
		"given up, and a rollout waits for it": {with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			c.Roll(tikv)
			c.Rolled(tikv, 1, 3)
		}), "if it never comes back: kubectl tidb failover t run --component tikv --discard t-tikv-1 -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"},
		"a replacement that cannot start, and a rollout waits for it": {needless(true), "take it away, since a member that was given up serves again: " +
			"kubectl tidb failover t recover -n ns; or see why: kubectl describe pod t-tikv-4 -n ns"},
		"the same, and it is needed": {needless(false), "see why: kubectl describe pod t-tikv-4 -n ns"},
		"due this very moment":       {with(func(c *plantest.Cluster) { lost(c, 35*time.Minute, "t-tikv-1") }), "replace it: kubectl tidb failover t run -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"},
		"it serves between its crashes": {
			crashed(with(), "t-tikv-1", 5, 5*time.Minute, 5*time.Second, time.Minute, 5*time.Second), "see why: kubectl logs t-tikv-1 -c tikv --previous -n ns",
		},
		"behind another gate": {with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-3").Pod.Terminating, c.Member("t-tikv-3").Claims[0].Marked = true, true
			c.Set(tikv, func(s *state.Set) { s.Replicas = 3 })
			c.Want(tikv).Replicas, c.Want(tikv).ScaleIn = 2, 2
		}), "replace it: kubectl tidb failover t run -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"},
		"one that is late, not lost": {with(func(c *plantest.Cluster) { late(c, "t-pd-0") }), "see why: kubectl describe pod t-pd-0 -n ns"},
	} {
		got := ""
		for _, g := range tc.c.Decide().Gates {
			if (g.Member == "t-tikv-1" || g.Member == "t-tikv-4" || g.Member == "t-pd-0") && g.Want == "serving" {
				got = g.Remedy.Line("")
			}
		}
		if got != tc.want {
			t.Errorf("%s: advises %q, want %q", name, got, tc.want)
		}
	}
}

// needless returns a cluster with a rollout that waits for a replacement without a place for its pod. back says whether
// the member that was given up serves again.
func needless(back bool) *plantest.Cluster {
	return with(func(c *plantest.Cluster) {
		if !back {
			lost(c, time.Hour, "t-tikv-1")
		}
		given(c, "t-tikv-1", time.Hour)
		replacement(c, tikv)
		c.Roll(tikv)
		c.Rolled(tikv, 4)
		c.Down(time.Hour, "t-tikv-4")
		c.Member("t-tikv-4").Database = state.Database{Presence: state.Absent}
	})
}

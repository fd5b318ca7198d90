package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// crashed gives a member's pod a number of restarts since it was made. ran is how long the last run
// was, waited the wait after that run. runs is how long the process runs again, zero if it does not
// run.
func crashed(c *plantest.Cluster, name string, restarts int, made, ran, waited, runs time.Duration) *plantest.Cluster {
	p := c.Member(name).Pod
	p.Restarts, p.Made = restarts, plantest.Now.Add(-made)
	started := plantest.Now.Add(-runs)
	p.Last.Ended = started.Add(-waited)
	p.Last.Started = p.Last.Ended.Add(-ran)
	p.Since, p.Started = started, started
	if runs == 0 {
		c.Down(waited, name)
	}
	return c
}

// TestCrashes: a pod without a readiness probe is Ready between two crashes.
func TestCrashes(t *testing.T) {
	rolled := func() *plantest.Cluster { return with(func(c *plantest.Cluster) { c.Roll(tidb).Rolled(tidb, 2) }) }
	const s, m, day = time.Second, time.Minute, 24 * time.Hour
	plantest.Waits(t, "crashes", []plantest.Case{
		{Name: "tikv-11-27: runs for less than it takes to believe in it", Cluster: crashed(rolled(), "t-tidb-2", 3, 3*m, 5*s, 40*s, 20*s)},
		{Name: "runs for long enough", Cluster: crashed(rolled(), "t-tidb-2", 3, 3*m, 5*s, 40*s, 30*s)},
		{Name: "runs for as long as it did before it crashed", Cluster: crashed(rolled(), "t-tidb-2", 3, 9*m, 50*s, 40*s, 60*s)},
		{Name: "runs for twice as long", Cluster: crashed(rolled(), "t-tidb-2", 3, 9*m, 50*s, 40*s, 100*s)},
		{Name: "crashed twice", Cluster: crashed(rolled(), "t-tidb-2", 2, 3*m, 5*s, 40*s, 5*s)},
		{Name: "has crashed after a long life", Cluster: crashed(rolled(), "t-tidb-2", 7, 30*day, day, 10*s, 5*s)},
		{Name: "waits to be started again", Cluster: crashed(rolled(), "t-tidb-2", 5, 5*m, 5*s, 80*s, 0)},
		{Name: "tidb-S6: since the pod was made", Cluster: crashed(rolled(), "t-tidb-2", 6, 12*m, 5*s, 160*s, 5*s)},
		{Name: "since the pod was made, more or less", Cluster: crashed(rolled(), "t-tidb-2", 6, 60*m, 5*s, 160*s, 5*s)},
		{Name: "the pod was made just twice as long ago as it can have waited", Cluster: crashed(rolled(), "t-tidb-2", 6, 20*m+20*s, 5*s, 160*s, 5*s)},
		{Name: "since the pod was made, and ran for as long as it waited", Cluster: crashed(rolled(), "t-tidb-2", 6, 20*m, 5*s, 160*s, 5*s)},
		{Name: "ran for longer than it waited", Cluster: crashed(rolled(), "t-tidb-2", 4, 17*m, 4*m, 80*s, 5*s)},
		{Name: "has crashed after ten minutes", Cluster: crashed(rolled(), "t-tidb-2", 7, 30*day, 10*m, 10*s, 5*s)},
		{Name: "is going", Cluster: func() *plantest.Cluster {
			c := crashed(rolled(), "t-tidb-2", 5, 5*m, 5*s, 80*s, 0)
			c.Member("t-tidb-2").Pod.Terminating = true
			return c
		}()},
		{Name: "its last run is unknown", Cluster: func() *plantest.Cluster {
			c := crashed(rolled(), "t-tidb-2", 5, 5*m, 5*s, 80*s, 0)
			c.Member("t-tidb-2").Pod.Last = state.Run{}
			return c
		}()},
		{Name: "an old pod, since a while", Cluster: crashed(rolled(), "t-tidb-2", 6, 9*day, 5*s, 160*s, 5*s)},
		{Name: "an old pod, since long", Cluster: crashed(rolled(), "t-tidb-2", 9, 9*day, 5*s, 300*s, 5*s)},
		{Name: "the one to be restarted next is given the cure", Cluster: crashed(with(func(c *plantest.Cluster) { c.Roll(tidb) }),
			"t-tidb-2", 6, 12*m, 5*s, 160*s, 5*s)},
		{Name: "another one crashes with the new revision, so does this one", Cluster: crashed(crashed(with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3)
		}), "t-tikv-3", 6, 5*m, 5*s, 160*s, 5*s), "t-tikv-2", 6, 5*m, 5*s, 160*s, 5*s)},
		{Name: "tidb-S6: converged, and as many run as are wanted", Cluster: crashed(with(), "t-tidb-2", 6, 12*m, 5*s, 160*s, 5*s)},
		{Name: "nothing is removed during that time", Cluster: crashed(with(func(c *plantest.Cluster) { c.Want(tidb).Replicas = 2 }),
			"t-tidb-0", 5, 5*m, 5*s, 80*s, 5*s)},
	})
}

// runsWithoutServing makes a store run without serving, below those that are to be restarted.
func runsWithoutServing(c *plantest.Cluster, ago time.Duration) {
	c.Roll(tikv)
	m := c.Member("t-tikv-1")
	m.Database.Healthy, m.Database.State, m.Database.Since = false, state.StoreDisconnected, plantest.Now.Add(-ago)
	c.Seen.PD.UpStores--
}

// TestBelowRollout: a member does not serve because of the old template, and the members above it
// serve with it.
func TestBelowRollout(t *testing.T) {
	plantest.Waits(t, "below-rollout", []plantest.Case{
		{Name: "down for a while", Cluster: with(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Minute, "t-tikv-1") })},
		{Name: "pd-B15: down for long", Cluster: with(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Hour, "t-tikv-1") })},
		{Name: "pd-B17: no pod", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Pod, m.Gone = nil, plantest.Now.Add(-time.Minute)
		})},
		{Name: "pd-B17: no pod for long", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Minute, "t-tikv-1")
			m := c.Member("t-tikv-1")
			m.Pod, m.Gone = nil, plantest.Now.Add(-time.Hour)
		})},
		{Name: "runs, and has not served for a while", Cluster: with(func(c *plantest.Cluster) { runsWithoutServing(c, 9*time.Minute) })},
		{Name: "runs, and has not served for long", Cluster: with(func(c *plantest.Cluster) { runsWithoutServing(c, 10*time.Minute) })},
		{Name: "crashes again and again, and has served in between", Cluster: crashed(with(func(c *plantest.Cluster) { runsWithoutServing(c, 3*time.Minute) }),
			"t-tikv-1", 6, 12*time.Minute, 5*time.Second, 160*time.Second, 5*time.Second)},
		{Name: "runs, and has not joined for long", Cluster: with(func(c *plantest.Cluster) {
			runsWithoutServing(c, 0)
			c.Member("t-tikv-1").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "runs, and PD says nothing of it", Cluster: with(func(c *plantest.Cluster) {
			runsWithoutServing(c, 0)
			c.Member("t-tikv-1").Database = state.Database{}
		})},
		{Name: "has no pod, below a Ready server that does not answer", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Down(time.Hour, "t-tidb-0")
			m := c.Member("t-tidb-0")
			m.Pod, m.Gone = nil, plantest.Now.Add(-time.Hour)
			c.Member("t-tidb-2").Database.Healthy = false
		})},
		{Name: "has no pod, below a Ready server that does not answer and is being deleted", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tidb).Down(time.Hour, "t-tidb-0")
			m := c.Member("t-tidb-0")
			m.Pod, m.Gone = nil, plantest.Now.Add(-time.Hour)
			c.Member("t-tidb-2").Database.Healthy, c.Member("t-tidb-2").Pod.Terminating = false, true
		})},
		{Name: "the new template is there already", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-3")
		})},
		{Name: "its data was given up, and its store leaves", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Removing("t-tikv-1", 10*time.Minute)
			c.Seen.PD.UpStores++ // it was not up before
		})},
		{Name: "the next one crashes again and again, and one above it is to go", Cluster: crashed(with(func(c *plantest.Cluster) {
			c.Roll(tidb).Rolled(tidb, 2).Want(tidb).Replicas = 2
		}), "t-tidb-1", 6, 12*time.Minute, 5*time.Second, 160*time.Second, 5*time.Second)},
		{Name: "the next one is down for long, its claim is being deleted, and PD does not answer", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(pd).Down(time.Hour, "t-pd-2").PDUnknown()
			m := c.Member("t-pd-2")
			m.Claims, m.Pod.Claims = []state.Claim{{Name: "pd-t-pd-2", UID: "data", Marked: true, Terminating: true}}, []string{"pd-t-pd-2"}
		})},
	})
	c := with(func(c *plantest.Cluster) { c.Roll(tikv).Down(time.Hour, "t-tikv-1") })
	want := "it has the old pod template, and the new one reaches it only after t-tikv-3, which is not restarted as long as a peer is down; " +
		"if the new template is what it needs, delete the StatefulSet without its pods, then its pod, and go on: kubectl delete statefulset t-tikv --cascade=orphan -n ns " +
		"&& kubectl delete pod t-tikv-1 --wait=false -n ns && kubectl tidb sync t -n ns; or see why: kubectl describe pod t-tikv-1 -n ns"
	if got := c.Decide().Gates[0].Remedy.Line(""); got != want {
		t.Errorf("says %q", got)
	}
}

// TestRevert: a rollout is taken back while some pods still have the old template, which is wanted
// again.
func TestRevert(t *testing.T) {
	back := func(change func(c *plantest.Cluster)) *plantest.Cluster {
		return with(func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 2, 3)
			c.Set(tikv, func(s *state.Set) { s.UpdateRevision, s.Partition = "v1", 4 })
			change(c)
		})
	}
	plantest.Table(t, "revert", []plantest.Case{
		{Name: "tikv-11-35: all serve", Cluster: back(func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 0) })},
		{Name: "tikv-11-35: the first one fails", Cluster: back(func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-3") })},
		{Name: "tikv-11-35: the first one is back", Cluster: back(func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Pod.Revision = "v1"
			c.Evicting("t-tikv-2", time.Minute, 0).Set(tikv, func(s *state.Set) { s.Partition = 3 })
		})},
		{Name: "tidb-B19: all are back", Cluster: back(func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Pod.Revision, c.Member("t-tikv-2").Pod.Revision = "v1", "v1"
		})},
	})
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestOrdered decides for StatefulSets whose pods come one by one.
func TestOrdered(t *testing.T) {
	ordered := func(s *state.Set) { s.Ordered = true }
	missing := func(c *plantest.Cluster, names ...string) *plantest.Cluster {
		for _, name := range names {
			c.Down(time.Minute, name).Member(name).Pod = nil
		}
		return c
	}
	begun := func(change func(*state.Set)) *plantest.Cluster {
		c := plantest.New(3, 4, 2).Roll(tikv).Set(tikv, change)
		return missing(c.Down(time.Minute, "t-tikv-0"), "t-tikv-1", "t-tikv-2", "t-tikv-3")
	}
	opened := func(s *state.Set) { s.Partition = 3 }
	leftOver := func(ago time.Duration, change func(*state.Set)) *plantest.Cluster {
		c := plantest.New(3, 4, 2).Down(ago, "t-tikv-1").Set(tikv, change).Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 3, 3 })
		c.Want(tikv).Replicas = 3
		c.Member("t-tikv-3").Claims[0].Marked = true
		return c
	}
	plantest.Waits(t, "ordered", []plantest.Case{
		{Name: "the first is stuck, the others wait for it", Cluster: begun(ordered).Set(tikv, opened)},
		{Name: "the same, but Parallel: the last is missing for another reason", Cluster: begun(func(*state.Set) {}).Set(tikv, opened)},
		{Name: "the last is missing though all before it are ready", Cluster: missing(plantest.New(3, 4, 2).Set(tikv, ordered), "t-tikv-3")},
		{Name: "one is missing behind one that is not ready", Cluster: missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Minute, "t-tikv-1"), "t-tikv-3")},
		{Name: "behind one that needs a person", Cluster: missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Hour, "t-tikv-1"), "t-tikv-3")},
		{Name: "the same, and it has no data", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Hour, "t-tikv-1"), "t-tikv-3")
			c.Member("t-tikv-3").Claims = nil
			return c
		}()},
		{Name: "the same, and its data is marked", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Hour, "t-tikv-1"), "t-tikv-3")
			c.Member("t-tikv-3").Claims[0].Marked = true
			return c
		}()},
		{Name: "the same, and PD lets no member join before it has started", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-1"), "t-pd-2")
			m := c.Member("t-pd-2")
			m.Claims, m.Database.Unstarted = nil, true
			return c
		}()},
		{Name: "the same, and the first one was given up and has no vote", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-1"), "t-pd-2")
			given(c, "t-pd-1", time.Hour, deleted)
			c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
			m := c.Member("t-pd-2")
			m.Claims, m.Database.Unstarted = nil, true
			return c
		}()},
		{Name: "PD has no quorum, and the data of the one that is missing is marked", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-0"), "t-pd-1", "t-pd-2")
			for _, name := range []string{"t-pd-1", "t-pd-2"} {
				c.Member(name).Claims[0].Marked = true
			}
			return c.PDUnknown()
		}()},
		{Name: "PD has no quorum, and those that are missing have no data", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-0"), "t-pd-1", "t-pd-2")
			c.Member("t-pd-1").Claims, c.Member("t-pd-2").Claims = nil, nil
			return c.PDUnknown()
		}()},
		{Name: "behind one that may become ready, and another one needs a person", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Minute, "t-tikv-1"), "t-tikv-3")
			m := c.Member("t-tikv-0")
			m.Database.State, m.Database.Healthy, m.NotServing = state.StoreDown, false, plantest.Now.Add(-time.Hour)
			c.Seen.PD.UpStores--
			return c
		}()},
		{Name: "PD has no quorum, and one of it is missing behind one that was given up", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-0"), "t-pd-1", "t-pd-2")
			given(c, "t-pd-0", time.Hour)
			return c.PDUnknown()
		}()},
		{Name: "PD has no quorum, and a voter is missing behind a member that is not wanted", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(time.Hour, "t-pd-1"), "t-pd-2").PDUnknown()
			c.Member("t-pd-0").NotServing = plantest.Now.Add(-time.Hour)
			c.Want(pd).Replicas = 1
			return c
		}()},
		{Name: "behind one that is missing too", Cluster: missing(plantest.New(3, 4, 2).Set(tikv, ordered), "t-tikv-2", "t-tikv-3")},
		{Name: "one is missing, and only one above it is not ready", Cluster: missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Minute, "t-tikv-3"), "t-tikv-1")},
		{Name: "behind one that is terminating", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(tikv, ordered), "t-tikv-3")
			c.Member("t-tikv-1").Pod.Terminating = true
			return c
		}()},
		{Name: "one is to go, and of those that stay one is missing behind another", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(tikv, ordered).Down(time.Minute, "t-tikv-1"), "t-tikv-2")
			c.Want(tikv).Replicas = 3
			return c
		}()},
		{Name: "a removed pod stays while another is terminating", Cluster: func() *plantest.Cluster {
			c := leftOver(time.Minute, ordered)
			c.Member("t-tikv-1").Pod.Ready, c.Member("t-tikv-1").Pod.Terminating = true, true
			return c
		}()},
		{Name: "a removed pod stays while another is missing", Cluster: missing(leftOver(time.Minute, ordered), "t-tikv-0")},
		{Name: "a removed pod stays while two are not ready", Cluster: leftOver(time.Minute, ordered).Down(3*time.Minute, "t-tikv-2")},
		{Name: "a removed pod stays while another is not ready", Cluster: leftOver(time.Minute, ordered)},
		{Name: "a removed pod stays while another has not been ready for long", Cluster: leftOver(10*time.Minute, ordered)},
		{Name: "a removed pod stays while another crashes again and again", Cluster: func() *plantest.Cluster {
			c := leftOver(time.Hour, ordered)
			p := c.Member("t-tikv-1").Pod
			p.Ready, p.Since, p.Started, p.Restarts = true, plantest.Now, plantest.Now.Add(-10*time.Second), 30
			p.Last.Started, p.Last.Ended = plantest.Now.Add(-11*time.Minute), plantest.Now.Add(-10*time.Minute)
			return c
		}()},
		{Name: "one is missing behind a voter that PD has removed and that has not been ready for two minutes", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 4, 2).Set(pd, ordered).Down(2*time.Minute, "t-pd-1"), "t-pd-2")
			m := c.Member("t-pd-1")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			c.Seen.PD.Members = 2
			return c
		}()},
		{Name: "one is missing behind a store that is terminating, still serves, and loses its claim", Cluster: func() *plantest.Cluster {
			c := missing(plantest.New(3, 5, 2).Set(tikv, ordered), "t-tikv-4")
			m := c.Member("t-tikv-1")
			m.Pod.Terminating, m.Claims[0].Terminating = true, true
			return c
		}()},
		{Name: "its place is wanted again", Cluster: func() *plantest.Cluster {
			c := leftOver(10*time.Minute, ordered)
			c.Want(tikv).Replicas, c.Member("t-tikv-3").Database.State = 4, state.StoreTombstone
			return c
		}()},
		{Name: "a removed pod goes, Parallel", Cluster: leftOver(10*time.Minute, func(*state.Set) {})},
		{Name: "a removed pod is terminating", Cluster: func() *plantest.Cluster {
			c := leftOver(10*time.Minute, ordered)
			c.Member("t-tikv-3").Pod.Terminating = true
			return c
		}()},
		{Name: "a removed pod goes as soon as Kubernetes gets to it", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Set(tikv, ordered).Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 3, 3 })
			c.Want(tikv).Replicas = 3
			c.Member("t-tikv-3").Claims[0].Marked = true
			return c
		}()},
	})
}

// TestFounders decides for a PD that is not bootstrapped yet.
func TestFounders(t *testing.T) {
	founding := func(id uint64) *plantest.Cluster {
		c := plantest.New(1, 0, 0).PDUnknown()
		c.Want(pd).Replicas = 3
		c.Seen.PD.ClusterID = id
		c.Member("t-pd-0").Claims = nil
		return c
	}
	scaledAway := func(n, founders int, id uint64) *plantest.Cluster {
		c := founding(id)
		c.Want(pd).Replicas, c.Want(pd).Founders = n, founders
		return c
	}
	resumed := func(id uint64, founders int) *plantest.Cluster {
		c := plantest.New(1, 0, 0).PDUnknown().Set(pd, func(s *state.Set) { *s = state.Set{} })
		c.Want(pd).Set.Drift, c.Want(pd).Founders, c.Seen.PD.ClusterID = desired.Missing, founders, id
		c.Member("t-pd-0").Pod = nil
		return c
	}
	plantest.Table(t, "founders", []plantest.Case{
		{Name: "too few to found it", Cluster: founding(0)},
		{Name: "it was founded, and does not answer", Cluster: founding(7)},
		{Name: "one is wanted, and three found it", Cluster: scaledAway(1, 3, 0)},
		{Name: "one is wanted, and three have founded it", Cluster: scaledAway(1, 0, 7)},
		{Name: "fewer are wanted than have begun to found it", Cluster: resumed(0, 3)},
		{Name: "fewer are wanted than have founded it", Cluster: resumed(7, 0)},
	})
}

// TestByHand decides for pods that users replace themselves.
func TestByHand(t *testing.T) {
	manual := func(s *state.Set) { s.Manual = true }
	deaf := func(c *plantest.Cluster, names ...string) *plantest.Cluster {
		for _, name := range names {
			c.Member(name).Database = state.Database{}
		}
		return c
	}
	unready := func() *plantest.Cluster {
		c := plantest.New(3, 0, 0).Roll(pd).Set(pd, manual).Down(time.Minute, "t-pd-0", "t-pd-1", "t-pd-2")
		c.Seen.PD, c.Want(pd).Replicas = state.PD{Problem: "PD does not answer"}, 2
		return deaf(c, "t-pd-0", "t-pd-1", "t-pd-2")
	}
	plantest.Waits(t, "by-hand", []plantest.Case{
		{Name: "a pod of the old revision is stuck", Cluster: plantest.New(3, 4, 2).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-1")},
		{Name: "two are", Cluster: plantest.New(3, 4, 2).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-1", "t-tikv-3")},
		{Name: "a pod of the new revision is stuck", Cluster: plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 1).Set(tikv, manual).Down(time.Minute, "t-tikv-1")},
		{Name: "one of each", Cluster: plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 1).Set(tikv, manual).Down(time.Minute, "t-tikv-1", "t-tikv-3")},
		{Name: "an earlier component has pods to replace", Cluster: plantest.New(3, 4, 2).Roll(pd).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-1")},
		{Name: "the pod is gone already", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-1")
			c.Member("t-tikv-1").Pod = nil
			return c
		}()},
		{Name: "nothing to replace", Cluster: plantest.New(3, 4, 2).Set(tikv, manual).Down(time.Minute, "t-tikv-1")},
		{Name: "a pod is stuck and the template is not applied yet", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Set(tikv, manual).Down(time.Minute, "t-tikv-1")
			c.Want(tikv).Set.Drift = desired.Differs
			return c
		}()},
		{Name: "the replacement waits for the one that was given up", Cluster: func() *plantest.Cluster {
			c := plantest.New(4, 3, 1).Roll(pd).Set(pd, func(s *state.Set) { s.Manual, s.Ordered = true, true }).Down(time.Minute, "t-pd-2")
			c.Want(pd).Replicas, c.Seen.PD.Members, c.Seen.PD.Healthy = 3, 2, 2
			given(c, "t-pd-2", time.Hour, deleted)
			for _, name := range []string{"t-pd-2", "t-pd-3"} {
				c.Member(name).Database = state.Database{Presence: state.Absent}
			}
			c.Member("t-pd-2").Pod.Ran, c.Member("t-pd-2").Claims[0].Marked, c.Member("t-pd-3").Pod = false, true, nil
			return c
		}()},
		{Name: "a store that crashes is on its way out", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Roll(tikv).Set(tikv, manual).Down(time.Minute, "t-tikv-3")
			c.Want(tikv).Replicas, c.Member("t-tikv-3").Database.State = 3, state.StoreOffline
			return c
		}()},
		{Name: "a store that crashes with the new revision is on its way out", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 3).Set(tikv, manual).Down(time.Minute, "t-tikv-3")
			c.Want(tikv).Replicas, c.Member("t-tikv-3").Database.State = 3, state.StoreOffline
			return c
		}()},
		{Name: "PD cannot be asked, and one that is not wanted crashes", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 0, 0).Roll(pd).Set(pd, manual).Down(time.Minute, "t-pd-2")
			c.Seen.PD = state.PD{Problem: "PD does not answer"}
			c.Want(pd).Replicas = 2
			return deaf(c, "t-pd-0", "t-pd-1", "t-pd-2")
		}()},
		{Name: "PD has no quorum, one is not wanted", Cluster: func() *plantest.Cluster {
			c := deaf(plantest.New(3, 0, 0).Roll(pd).Set(pd, manual), "t-pd-0", "t-pd-1", "t-pd-2")
			c.Seen.PD = state.PD{Problem: "PD has no leader", Leaderless: true}
			c.Want(pd).Replicas = 2
			return c
		}()},
		{Name: "PD has no quorum, one has been replaced", Cluster: func() *plantest.Cluster {
			c := deaf(plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 1).Set(pd, manual), "t-pd-0", "t-pd-1", "t-pd-2")
			c.Seen.PD = state.PD{Problem: "PD has no leader", Leaderless: true}
			c.Want(pd).Replicas = 1
			return c
		}()},
		{Name: "PD has a quorum between two crashes, and none of those that crash is wanted", Cluster: func() *plantest.Cluster {
			c := crashed(plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 0).Set(pd, manual), "t-pd-2", 6, time.Hour, 25*time.Second, time.Minute, 0)
			c.Want(pd).Replicas = 1
			return crashed(c, "t-pd-1", 6, time.Hour, 25*time.Second, 300*time.Second, 10*time.Second)
		}()},
		{Name: "PD has a quorum, but none to spare without one that crashes", Cluster: func() *plantest.Cluster {
			c := crashed(plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 0, 2).Set(pd, manual), "t-pd-1", 6, time.Hour, 25*time.Second, time.Minute, 0)
			c.Want(pd).Replicas = 1
			return c
		}()},
		{Name: "members elsewhere are down, and the last one, which is not wanted, crashes", Cluster: func() *plantest.Cluster {
			c := crashed(plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 0, 1).Set(pd, manual), "t-pd-2", 6, time.Hour, 25*time.Second, time.Minute, 0)
			c.Seen.PD.Members, c.Want(pd).Replicas = 5, 2
			return c
		}()},
		{Name: "PD has a quorum without those that crash", Cluster: func() *plantest.Cluster {
			c := crashed(plantest.New(5, 0, 0).Roll(pd).Rolled(pd, 0, 1, 2).Set(pd, manual), "t-pd-4", 6, time.Hour, 25*time.Second, time.Minute, 0)
			c.Want(pd).Replicas = 3
			return crashed(c, "t-pd-3", 6, time.Hour, 25*time.Second, 300*time.Second, 10*time.Second)
		}()},
		{Name: "one of the new revision is waited for, and one of the old crashes again and again", Cluster: crashed(
			plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 0, 1).Set(pd, manual).Down(time.Minute, "t-pd-1"),
			"t-pd-2", 6, time.Hour, 25*time.Second, 300*time.Second, 0)},
		{Name: "the same, and the one that crashes is up at the moment", Cluster: crashed(
			plantest.New(3, 0, 0).Roll(pd).Rolled(pd, 0, 1).Set(pd, manual).Down(time.Minute, "t-pd-1"),
			"t-pd-2", 6, time.Hour, 25*time.Second, 300*time.Second, 10*time.Second)},
		{Name: "a server that does not run is not wanted", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 3).Roll(tidb).Set(tidb, manual).Down(time.Minute, "t-tidb-2", "t-tidb-1")
			c.Want(tidb).Replicas = 1
			c.Add(tidb).Pod = &state.Pod{Terminating: true, Since: plantest.Now}
			return c
		}()},
		{Name: "a store that has never joined is not wanted", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 5, 2).Roll(tikv).Set(tikv, manual).Removing("t-tikv-4", time.Minute).Down(time.Minute, "t-tikv-3")
			c.Want(tikv).Replicas, c.Member("t-tikv-3").Database = 3, state.Database{Presence: state.Absent}
			return c
		}()},
		{Name: "a server cannot be asked", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Roll(tidb).Set(tidb, manual)
			c.Member("t-tidb-0").Database = state.Database{Answer: state.NoAnswer, Problem: "timeout"}
			return c
		}()},
		{Name: "one is stuck, and PD does not hear from another one", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2).Roll(tikv).Set(tikv, manual).Down(time.Hour, "t-tikv-1")
			silent(c, "t-tikv-3", time.Hour)
			return c
		}()},
		{Name: "PD cannot be asked, and one that is not wanted crashes again and again", Cluster: func() *plantest.Cluster {
			c := crashed(plantest.New(3, 0, 0).Roll(pd).Set(pd, manual), "t-pd-2", 6, time.Hour, 25*time.Second, time.Minute, 0)
			c.Seen.PD = state.PD{Problem: "PD does not answer"}
			c.Want(pd).Replicas = 2
			return deaf(c, "t-pd-0", "t-pd-1", "t-pd-2")
		}()},
		{Name: "PD cannot be asked, none of its members is ready, and one of them is not wanted", Cluster: unready()},
		{Name: "the same, and one has no pod", Cluster: func() *plantest.Cluster {
			c := unready()
			c.Member("t-pd-1").Pod = nil
			return c
		}()},
		{Name: "PD cannot be asked", Cluster: func() *plantest.Cluster {
			c := deaf(plantest.New(3, 0, 0).Roll(pd).Set(pd, manual), "t-pd-0", "t-pd-1", "t-pd-2")
			c.Seen.PD = state.PD{Problem: "PD does not answer"}
			return c
		}()},
	})
}

package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestScalingTogether: several members are added or removed at the same time. They must be the next
// ordinals: a StatefulSet cannot skip one.
func TestScalingTogether(t *testing.T) {
	out := func(replicas int, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return with(append(changes, func(c *plantest.Cluster) { c.Want(tikv).Replicas, c.Want(tikv).ScaleOut = replicas, 2 })...)
	}
	in := func(replicas int, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 7, 2)
		for _, change := range changes {
			change(c)
		}
		c.Want(tikv).Replicas, c.Want(tikv).ScaleIn = replicas, 2
		return c
	}
	free := func(name string) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			m := c.Member(name)
			m.Database.State, m.Database.Healthy, m.Claims[0].Marked = state.StoreTombstone, false, true
			c.Seen.PD.Stores--
			c.Seen.PD.UpStores--
		}
	}
	offline := func(name string) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			m := c.Member(name)
			m.Database.State, m.Database.Healthy = state.StoreOffline, false
			c.Seen.PD.UpStores--
		}
	}
	left := func(c *plantest.Cluster) *state.Member {
		m := c.Add(tikv)
		m.Database = state.Database{Presence: state.Absent}
		return m
	}
	joining := func(c *plantest.Cluster) { c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent} }
	plantest.Table(t, "scaling-together", []plantest.Case{
		{Name: "out: two of three", Cluster: out(7)},
		{Name: "out: the last one", Cluster: out(5)},
		{Name: "out: one has yet to join", Cluster: out(7, joining)},
		{Name: "out: one has yet to join, and the cluster id is unknown", Cluster: out(7, joining, func(c *plantest.Cluster) { c.Seen.PD.ClusterID = 0 })},
		{Name: "out: during a rollout", Cluster: out(7, func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "out: during a rollout, and the last one does not serve", Cluster: out(7, func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-3")
		})},
		{Name: "out: during a rollout, and the last one leaves and has no room for its regions", Cluster: out(7, func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-3")
			offline("t-tikv-3")(c)
		})},
		{Name: "out: voters", Cluster: with(func(c *plantest.Cluster) { c.Want(pd).Replicas, c.Want(pd).ScaleOut = 5, 2 })},
		{Name: "out: the first has no room yet, the second has", Cluster: out(6, func(c *plantest.Cluster) {
			left(c).Claims[0].Terminating = true
		})},
		{Name: "out: the second has no room yet, the first has", Cluster: out(6, func(c *plantest.Cluster) {
			left(c).Claims = nil
			left(c).Claims[0].Terminating = true
		})},
		{Name: "out: the claim of one is deleted, that of the other is not known to be free", Cluster: out(6, func(c *plantest.Cluster) {
			left(c).Claims[0].Marked = true
			left(c)
		})},
		{Name: "in: two of three", Cluster: in(4)},
		{Name: "in: both are free", Cluster: in(4, free("t-tikv-6"), free("t-tikv-5"))},
		{Name: "in: the upper one is free", Cluster: in(4, free("t-tikv-6"), offline("t-tikv-5"))},
		{Name: "in: a third one is offline already, and only one more leaves", Cluster: in(4, offline("t-tikv-4"))},
		{Name: "in: a third and a fourth one are offline already, and no more leaves", Cluster: in(3, offline("t-tikv-4"), offline("t-tikv-3"))},
		{Name: "in: a third and a fourth one are offline already, and the upper one holds nothing", Cluster: in(3, offline("t-tikv-4"), offline("t-tikv-3"), free("t-tikv-6"))},
		{Name: "in: the lower one is free, the upper one holds data", Cluster: in(4, free("t-tikv-5"), offline("t-tikv-6"))},
		{Name: "in: no more than are not wanted", Cluster: in(6, free("t-tikv-6"), free("t-tikv-5"))},
		{Name: "in: a pod of one is still there", Cluster: in(4, free("t-tikv-6"), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 6, 6 })
			c.Member("t-tikv-6").Pod.Terminating = true
		})},
		{Name: "in: the pods of two are still there", Cluster: in(4, free("t-tikv-6"), free("t-tikv-5"), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 5, 5 })
			c.Member("t-tikv-6").Pod.Terminating, c.Member("t-tikv-5").Pod.Terminating = true, true
		})},
		{Name: "in: one that stays is down, those that go are on their way", Cluster: in(4, offline("t-tikv-6"), offline("t-tikv-5"), func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-tikv-0")
		})},
		{Name: "in: voters", Cluster: func() *plantest.Cluster {
			c := plantest.New(5, 4, 2)
			c.Want(pd).Replicas, c.Want(pd).ScaleIn = 3, 2
			return c
		}()},
		{Name: "in: servers", Cluster: with(func(c *plantest.Cluster) { c.Want(tidb).Replicas, c.Want(tidb).ScaleIn = 1, 2 })},
		{Name: "in: one that was never observed", Cluster: with(func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Replicas, s.Partition = 5, 5 })
		})},
		{Name: "in: servers, to none", Cluster: with(func(c *plantest.Cluster) { c.Want(tidb).Replicas, c.Want(tidb).ScaleIn = 0, 9 })},
	})
}

// TestRecalled: the replicas of a StatefulSet were lowered by hand. Members that the
// database counts on come back before anything else, wanted or not.
func TestRecalled(t *testing.T) {
	lowered := func(k topology.Kind, to, want int, changes ...func(c *plantest.Cluster, taken []*state.Member)) *plantest.Cluster {
		c := plantest.New(5, 6, 3)
		c.Want(k).Replicas = want
		c.Set(k, func(s *state.Set) { s.Replicas, s.Partition = to, to })
		var taken []*state.Member
		for i := to; i < len(c.Seen.Groups[k].Members); i++ {
			m := &c.Seen.Groups[k].Members[i]
			m.Pod, m.Database.Healthy, m.Database.Since = nil, false, plantest.Now.Add(-time.Minute)
			taken = append(taken, m)
		}
		for _, change := range changes {
			change(c, taken)
		}
		return c
	}
	first := func(change func(m *state.Member)) func(*plantest.Cluster, []*state.Member) {
		return func(_ *plantest.Cluster, taken []*state.Member) { change(taken[0]) }
	}
	leaderless := func(c *plantest.Cluster, _ []*state.Member) {
		c.PDUnknown()
		c.Seen.PD.Leaderless = true
	}
	unasked := func(c *plantest.Cluster, _ []*state.Member) {
		c.PDUnknown()
		c.Seen.PD.ClusterID = 7
	}
	marked := func(_ *plantest.Cluster, taken []*state.Member) {
		for _, m := range taken {
			m.Claims[0].Marked = true
		}
	}
	looping := func(c *plantest.Cluster, member string) {
		p := c.Member(member).Pod
		p.Ready, p.Started, p.Restarts = false, time.Time{}, 9
		p.Last = state.Run{Started: plantest.Now.Add(-70 * time.Second), Ended: plantest.Now.Add(-time.Minute)}
	}
	plantest.Table(t, "recalled", []plantest.Case{
		{Name: "stores that are not wanted", Cluster: lowered(tikv, 4, 4)},
		{Name: "stores of which the first is Offline", Cluster: lowered(tikv, 4, 4, first(func(m *state.Member) { m.Database.State = state.StoreOffline }))},
		{Name: "before one that crashes is restarted", Cluster: lowered(tikv, 4, 4, func(c *plantest.Cluster, _ []*state.Member) {
			c.Roll(tikv).Down(time.Hour, "t-tikv-3")
		})},
		{Name: "a store whose pod is still there", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Pod = &state.Pod{Terminating: true, Since: plantest.Now} }))},
		{Name: "a store that was marked, so that we took its pod away", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Claims[0].Marked = true }))},
		{Name: "the same, and PD has gone on to count on it for two minutes", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) {
			m.Claims[0].Marked, m.NotServing = true, plantest.Now.Add(-2*time.Minute)
		}))},
		{Name: "a store that was marked a minute ago, while a person has to do something about another one", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) {
			m.Claims[0].Marked, m.NotServing = true, plantest.Now.Add(-time.Minute)
		}), func(c *plantest.Cluster, _ []*state.Member) { c.Down(time.Hour, "t-tikv-1") })},
		{Name: "a store that was marked two minutes ago, while a person has to do something about another one", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) {
			m.Claims[0].Marked, m.NotServing = true, plantest.Now.Add(-2*time.Minute)
		}), func(c *plantest.Cluster, _ []*state.Member) { c.Down(time.Hour, "t-tikv-1") })},
		{Name: "a voter that was marked, and PD has gone on to count on it", Cluster: lowered(pd, 4, 4, first(func(m *state.Member) {
			m.Claims[0].Marked, m.NotServing = true, plantest.Now.Add(-2*time.Minute)
		}))},
		{Name: "a store whose claim is going", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Claims[0].Terminating = true }))},
		{Name: "a store whose claim is gone", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Claims = nil }))},
		{Name: "a store above one whose claim is gone", Cluster: lowered(tikv, 4, 4, first(func(m *state.Member) { m.Claims = nil }))},
		{Name: "a store above one whose claim is going", Cluster: lowered(tikv, 4, 4, first(func(m *state.Member) { m.Claims[0].Terminating = true }))},
		{Name: "a store above a tombstone", Cluster: lowered(tikv, 4, 4, first(func(m *state.Member) {
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
		}))},
		{Name: "a store whose claim is going, above one whose claim is gone", Cluster: lowered(tikv, 4, 4, func(_ *plantest.Cluster, taken []*state.Member) {
			taken[0].Claims, taken[1].Claims[0].Terminating = nil, true
		})},
		{Name: "a voter above one that PD has removed", Cluster: lowered(pd, 3, 3, first(func(m *state.Member) {
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
		}))},
		{Name: "a tombstone", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Database.State = state.StoreTombstone }))},
		{Name: "a store, while PD does not speak of stores", Cluster: lowered(tikv, 5, 5, first(func(m *state.Member) { m.Database = state.Database{} }))},
		{Name: "voters that are not wanted", Cluster: lowered(pd, 3, 3)},
		{Name: "voters without whom there is no quorum", Cluster: lowered(pd, 2, 1, leaderless)},
		{Name: "a voter, while PD cannot be asked", Cluster: lowered(pd, 2, 1, func(c *plantest.Cluster, _ []*state.Member) { c.PDUnknown() })},
		{Name: "a voter that was marked, without a quorum", Cluster: lowered(pd, 2, 1, leaderless, first(func(m *state.Member) { m.Claims[0].Marked = true }))},
		{Name: "a voter that was marked, without a quorum, and another has only just started", Cluster: lowered(pd, 2, 1, leaderless, marked, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod.Started = plantest.Now.Add(-time.Minute)
		})},
		{Name: "a voter that was not marked, without a quorum, and another has only just started", Cluster: lowered(pd, 2, 1, leaderless, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod.Started = plantest.Now.Add(-time.Minute)
		})},
		{Name: "a voter that was marked, without a quorum, and another has had just long enough to start", Cluster: lowered(pd, 2, 1, leaderless, marked, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod.Started = plantest.Now.Add(-2 * time.Minute)
		})},
		{Name: "a voter that was marked, without a quorum, and another has no pod yet", Cluster: lowered(pd, 2, 1, leaderless, marked, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod = nil
		})},
		{Name: "a voter that was marked, and another has crashed", Cluster: lowered(pd, 2, 1, leaderless, marked, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod.Started = time.Time{}
		})},
		{Name: "a voter that was marked, and another crashes again and again, for want of data", Cluster: lowered(pd, 2, 1, leaderless, marked, func(c *plantest.Cluster, _ []*state.Member) {
			looping(c, "t-pd-0")
		})},
		{Name: "a voter above one that has no data", Cluster: lowered(pd, 2, 1, leaderless, first(func(m *state.Member) { m.Claims = nil }))},
		{Name: "a voter above one whose claim is going", Cluster: lowered(pd, 2, 1, leaderless, first(func(m *state.Member) { m.Claims[0].Terminating = true }))},
		{Name: "voters of which none runs that could be asked", Cluster: lowered(pd, 0, 3, unasked, first(func(m *state.Member) { m.Claims[0].Marked = true }))},
		{Name: "voters of which only one runs that crashes for want of data", Cluster: lowered(pd, 1, 1, unasked, func(c *plantest.Cluster, _ []*state.Member) {
			looping(c, "t-pd-0")
		})},
		{Name: "the same, and the other one was marked", Cluster: lowered(pd, 1, 1, unasked, marked, func(c *plantest.Cluster, _ []*state.Member) {
			looping(c, "t-pd-0")
		})},
		{Name: "the same, and the others have no data", Cluster: lowered(pd, 1, 1, unasked, func(c *plantest.Cluster, taken []*state.Member) {
			looping(c, "t-pd-0")
			for _, m := range taken {
				m.Claims = nil
			}
		})},
		{Name: "voters of which only one runs, and has only just started", Cluster: lowered(pd, 1, 1, unasked, func(c *plantest.Cluster, _ []*state.Member) {
			c.Member("t-pd-0").Pod.Started = plantest.Now.Add(-119 * time.Second)
		})},
		{Name: "voters of which only one crashes, and PD was never there", Cluster: lowered(pd, 1, 1, unasked, func(c *plantest.Cluster, _ []*state.Member) {
			looping(c, "t-pd-0")
			c.Seen.PD.ClusterID = 0
		})},
		{Name: "a voter that was marked, while PD cannot be asked", Cluster: lowered(pd, 2, 1, func(c *plantest.Cluster, taken []*state.Member) {
			c.PDUnknown()
			taken[0].Claims[0].Marked = true
		})},
		{Name: "servers keep nothing", Cluster: lowered(tidb, 2, 2)},
		{Name: "in a cluster that is paused", Cluster: lowered(tikv, 4, 4, func(c *plantest.Cluster, _ []*state.Member) { c.Wanted.Cluster.Paused = true })},
	})
}

// TestVotersRemoved: after a voter was given up, another one is added when PD has removed it, and
// not before.
func TestVotersRemoved(t *testing.T) {
	lostVoter := func(absent bool, changes ...func(*plantest.Cluster)) *plantest.Cluster {
		return with(append([]func(*plantest.Cluster){func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", 3*time.Minute, deleted)
			if absent {
				c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
				c.Seen.PD.Members = 2
			}
		}}, changes...)...)
	}
	plantest.Table(t, "voters-removed", []plantest.Case{
		{Name: "PD has removed it", Cluster: lostVoter(true)},
		{Name: "PD counts it, whatever the record says", Cluster: lostVoter(false)},
		{Name: "PD does not speak of it", Cluster: lostVoter(true, func(c *plantest.Cluster) { c.Member("t-pd-1").Database = state.Database{} })},
		{Name: "another one is down", Cluster: lostVoter(true, func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 4, 4
			c.Down(time.Minute, "t-pd-2")
		})},
		{Name: "it was not noted yet", Cluster: lostVoter(true, func(c *plantest.Cluster) {
			c.Want(pd).Failures[0].Deleted = false
			c.Want(pd).Replicas = 4
		})},
	})
}

// TestSuspendFor: the step names the StatefulSet by its UID, so that one that was created since is
// not deleted.
func TestSuspendFor(t *testing.T) {
	got := suspend([]topology.Kind{tidb}).Decide().Steps
	want := step.DeleteSet{Component: tidb, Name: "t-tidb", Basis: step.Basis{UID: "set-tidb"}}
	if len(got) != 1 || got[0] != step.Step(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestDownVoterLeavesFirst: of three members of PD one is wanted, and the one in the middle is down. PD has no quorum
// without the highest one, so that the member in the middle leaves PD first.
func TestDownVoterLeavesFirst(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(*plantest.Cluster)
	}{
		{"its claims are marked", "mark pd-t-pd-1 as left over", func(*plantest.Cluster) {}},
		{"then PD removes it", "remove PD member t-pd-1", func(c *plantest.Cluster) { c.Member("t-pd-1").Claims[0].Marked = true }},
		{"it may serve", "no quorum without it", func(c *plantest.Cluster) {
			m := c.Member("t-pd-1")
			m.Pod.Started, m.Pod.Since, m.NotServing, m.ReportedDown = plantest.Now.Add(-time.Hour), plantest.Now, plantest.Now, plantest.Now
		}},
	} {
		w := plantest.New(3, 3, 1).Down(time.Hour, "t-pd-1")
		w.Want(pd).Replicas = 1
		c.change(w)
		if got := w.Text(); !strings.Contains(got, c.want) {
			t.Errorf("%s: got\n%s\nwant %s", c.name, got, c.want)
		}
	}
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// forgotten makes a member with marked claims one that PD does not list any more.
func forgotten(name string) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		c.Down(time.Hour, name)
		m := c.Member(name)
		m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
	}
}

// awaited makes a member one that PD has added, that has not started, and whose pod was scaled
// away.
func awaited(c *plantest.Cluster) {
	m := c.Add(pd)
	m.Database.Unstarted, m.Database.Name, m.Claims[0].Marked = true, "", true
	c.Seen.PD.Members++
}

// waitsToJoin makes a member of PD one with new data.
func waitsToJoin(c *plantest.Cluster) {
	c.Down(time.Hour, "t-pd-1")
	c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
	c.Seen.PD.Members--
}

func TestGuardsOfScaling(t *testing.T) {
	bare := func(c *plantest.Cluster) {
		c.Want(tikv).Replicas, c.Seen.PD.MaxReplicas = 3, 2
		m := c.Down(time.Hour, "t-tikv-1", "t-tikv-3").Member("t-tikv-3")
		m.Pod, m.Claims, m.Database.State, m.Database.Since = nil, nil, state.StoreDown, plantest.Now.Add(-time.Hour)
	}
	ordered := func(c *plantest.Cluster) { c.Set(tikv, func(s *state.Set) { s.Ordered = true }) }
	more := func(change func(c *plantest.Cluster, m *state.Member)) *plantest.Cluster {
		return with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			change(c, c.Add(tikv))
		})
	}
	only := plantest.New(3, 1, 0)
	forgotten("t-tikv-0")(only)
	only.Want(tikv).Replicas = 2
	many := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 7, 2)
		c.Want(tikv).Replicas, c.Want(tikv).ScaleIn = 5, 2
		for _, change := range changes {
			change(c)
		}
		return c
	}
	plantest.Waits(t, "guards-scaling", []plantest.Case{
		{Name: "out: the only store was forgotten", Cluster: only},
		{Name: "out: one comes back to its data and need not wait for one that joins", Cluster: more(func(c *plantest.Cluster, m *state.Member) {
			m.Database.State = state.StoreDown
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "out: PD counts on a store whose claims are marked", Cluster: more(func(_ *plantest.Cluster, m *state.Member) {
			m.Database.State, m.Claims[0].Marked = state.StoreDown, true
		})},
		{Name: "out: over an unmarked claim while PD does not speak of stores", Cluster: more(func(_ *plantest.Cluster, m *state.Member) {
			m.Database = state.Database{}
		})},
		{Name: "out: a voter, over the claim of one that PD does not know", Cluster: with(func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 4
			c.Add(pd).Database = state.Database{Presence: state.Absent}
		})},
		{Name: "out: the last one waits for a lower one", Cluster: with(ordered, func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Down(time.Minute, "t-tikv-1")
			m := c.Member("t-tikv-3")
			m.Pod, m.Database = nil, state.Database{Presence: state.Absent}
		})},
		{Name: "out: a voter was given up just now, and PD has removed it", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Minute)
			m := c.Member("t-pd-1")
			m.Database, m.Claims = state.Database{Presence: state.Absent}, nil
			c.Seen.PD.Members = 2
			c.Want(pd).Replicas = 4
		})},
		{Name: "out: a server that has not joined, over marked claims", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 4
			m := c.Member("t-tidb-2")
			m.Claims, m.Database = []state.Claim{{Name: "log-t-tidb-2", UID: "log", Marked: true}}, state.Database{Presence: state.Absent}
		})},
		{Name: "out: a store comes back whose claim is going", Cluster: more(func(_ *plantest.Cluster, m *state.Member) {
			m.Database.State, m.Database.Since, m.Claims[0].Terminating = state.StoreDown, plantest.Now.Add(-time.Hour), true
		})},
		{Name: "out: the last one refuses in a rollout, and its claim is going", Cluster: with(func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Hour, "t-tikv-3")
			c.Want(tikv).Replicas = 5
			m := c.Member("t-tikv-3")
			m.Pod.Ready, m.Pod.Claims, m.Claims[0].Terminating = true, []string{m.Claims[0].Name}, true
		})},
		{Name: "in: no quorum without the last voter, and there is evidence of others that do not serve", Cluster: fewer(time.Minute, 20*time.Minute)},
		{Name: "in: the same, for long enough", Cluster: fewer(2*time.Minute, 20*time.Minute)},
		{Name: "in: the same, but nothing of it is old", Cluster: fewer(time.Minute, 3*time.Minute)},
		{Name: "in: a store above the replicas leaves first", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			m := c.Add(tikv)
			m.Database.State, m.Claims = state.StoreOffline, nil
		})},
		{Name: "in: a store without a pod whose claim is gone, while another is down", Cluster: with(bare)},
		{Name: "in: the same, but stores have their data in no claims", Cluster: with(bare, func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Volumes = nil })
		})},
		{Name: "in: two, the last of which was forgotten", Cluster: many(forgotten("t-tikv-6"), forgotten("t-tikv-5"))},
		{Name: "in: a server that is down goes while one that stays is down", Cluster: with(func(c *plantest.Cluster) {
			c.Want(tidb).Replicas = 2
			c.Down(time.Minute, "t-tidb-2", "t-tidb-0")
		})},
		{Name: "in: behind a tombstone that is left over there is a store without data", Cluster: with(func(c *plantest.Cluster) {
			m := c.Add(tikv)
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
			c.Add(tikv).Claims = nil
		})},
		{Name: "in: a voter that PD waits for has no pod, and another one waits for PD to let it join", Cluster: with(awaited, waitsToJoin)},
		{Name: "in: the same, but it has started", Cluster: with(awaited, waitsToJoin, func(c *plantest.Cluster) {
			c.Member("t-pd-3").Database.Unstarted = false
		})},
		{Name: "in: a pod and its claim were made when the last store was scaled away", Cluster: with(madeAndRemoved)},
		{Name: "in: the same, but PD does not answer", Cluster: with(madeAndRemoved, func(c *plantest.Cluster) { c.PDUnknown() })},
		{Name: "in: the same, but PD does not speak of the store", Cluster: with(madeAndRemoved, func(c *plantest.Cluster) {
			c.Member("t-tikv-4").Database = state.Database{}
		})},
		{Name: "in: the same, but the store is wanted, and the one below it was forgotten", Cluster: with(madeAndRemoved, forgotten("t-tikv-3"), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
		})},
		{Name: "in: the same, but the store has joined", Cluster: with(madeAndRemoved, func(c *plantest.Cluster) {
			c.Member("t-tikv-4").Database = state.Database{Presence: state.Present, ID: 5, State: state.StoreUp, Healthy: true}
		})},
		{Name: "in: a voter that serves, while one that PD has removed is wanted again", Cluster: wantedAgain()},
		{Name: "in: the same, but it is down as well", Cluster: wantedAgain("t-pd-3")},
		{Name: "out: PD counts on a store whose pod serves above the replicas, with marked claims", Cluster: more(func(_ *plantest.Cluster, m *state.Member) {
			made := plantest.Now.Add(-time.Hour)
			m.Pod = &state.Pod{UID: "uid-tikv-4", Revision: "v1", Ready: true, Ran: true, Made: made, Since: made, Started: made}
			m.Database.Healthy, m.Claims[0].Marked = true, true
		})},
		{Name: "in: a voter that PD waits for is about to start, while another one is down", Cluster: func() *plantest.Cluster {
			c := plantest.New(4, 3, 1).Down(time.Minute, "t-pd-1", "t-pd-3")
			c.Member("t-pd-3").Database.Unstarted, c.Want(pd).Replicas = true, 3
			return c
		}()},
		{Name: "in: a voter that PD waits for has not started for ten minutes, while another one is down", Cluster: func() *plantest.Cluster {
			c := plantest.New(4, 3, 1).Down(time.Hour, "t-pd-1", "t-pd-3")
			c.Member("t-pd-3").Database.Unstarted, c.Want(pd).Replicas = true, 3
			return c
		}()},
		{Name: "in: behind a tombstone that upkeep has never labelled, and whose pod is missing", Cluster: many(forgotten("t-tikv-1"), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			m.Pod, m.Database = nil, state.Database{Presence: state.Present, ID: 2, State: state.StoreTombstone}
			m.Claims[0].Identity.Labels = nil
			c.Seen.PD.Stores--
		})},
		{Name: "in: the last store was forgotten, and one above it is wanted whose claim is gone", Cluster: with(forgotten("t-tikv-3"), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Add(tikv).Claims = nil
		})},
		{Name: "in: a voter that was never observed, while the first one is down", Cluster: with(func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pd-0").Set(pd, func(s *state.Set) { s.Replicas, s.Partition = 4, 4 })
		})},
	})
}

// madeAndRemoved adds a store above the replicas whose pod is stopping and has a claim.
func madeAndRemoved(c *plantest.Cluster) {
	m := c.Add(tikv)
	m.Pod = &state.Pod{UID: "uid-tikv-4", Revision: "v1", Terminating: true, Since: plantest.Now.Add(-time.Second), Made: plantest.Now.Add(-time.Second)}
	m.Database = state.Database{Presence: state.Absent}
}

// wantedAgain returns a PD of four of which three are wanted. PD has removed the third one, and its
// pod is still stopping. The named members are down as well.
func wantedAgain(down ...string) *plantest.Cluster {
	c := plantest.New(4, 3, 1)
	c.Want(pd).Replicas = 3
	forgotten("t-pd-2")(c)
	c.Member("t-pd-2").Pod.Terminating = true
	c.Seen.PD.Members = 3
	c.Down(time.Hour, down...)
	for _, name := range down {
		c.Member(name).Database.Since = plantest.Now.Add(-time.Hour)
	}
	return c
}

// fewer returns a PD of five of which two are wanted. The last member serves with the update
// revision. Two other members do not serve with an old revision: the ports refuse, and PD reports
// both unhealthy.
func fewer(refuse, unhealthy time.Duration) *plantest.Cluster {
	c := plantest.New(5, 3, 1).Roll(pd).Rolled(pd, 4)
	c.Want(pd).Replicas = 2
	c.Seen.PD.Healthy = 3
	for _, name := range []string{"t-pd-2", "t-pd-3"} {
		m := c.Member(name)
		m.Database.Healthy, m.Database.Answer, m.Database.Since = false, state.Refused, plantest.Now.Add(-unhealthy)
		m.Refusing, m.NotServing, m.ReportedDown = plantest.Now.Add(-refuse), plantest.Now.Add(-unhealthy), plantest.Now.Add(-unhealthy)
	}
	return c
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestLimitsOfEvidence: reports that are not enough evidence that a member does not serve, or that
// it was removed. A step because of one of them could take a process or data away that the cluster
// needs.
func TestLimitsOfEvidence(t *testing.T) {
	const s, m = time.Second, time.Minute
	joins := func(ago time.Duration) *plantest.Cluster {
		return rollTiKV(func(c *plantest.Cluster) {
			store := c.Member("t-tikv-3")
			store.Database, store.Pod.Started = state.Database{Presence: state.Absent}, plantest.Now.Add(-ago)
			c.Down(m, "t-tikv-0")
		})
	}
	notListed := func(change func(c *plantest.Cluster, m *state.Member)) *plantest.Cluster {
		return with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-2")
			m := c.Roll(pd).Member("t-pd-2")
			m.Database = state.Database{Presence: state.Absent}
			c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
			change(c, m)
		})
	}
	plantest.Waits(t, "limits-of-evidence", []plantest.Case{
		{Name: "a store has just started, PD does not list it yet, and a peer is down", Cluster: joins(119 * s)},
		{Name: "the same, and it has had time to register", Cluster: joins(120 * s)},
		{Name: "a server refuses on its status port and serves clients, and another one is not ready and refuses", Cluster: func() *plantest.Cluster {
			c := refusing(2 * m)
			unready(c.Member("t-tidb-0"), m)
			return c
		}()},
		{Name: "the same, for long", Cluster: func() *plantest.Cluster {
			c := refusing(2 * m)
			unready(c.Member("t-tidb-0"), m)
			for _, name := range []string{"t-tidb-0", "t-tidb-1", "t-tidb-2"} {
				c.Member(name).NotServing = plantest.Now.Add(-time.Hour)
			}
			return c
		}()},
		{Name: "a store is not ready, PD does not hear from it, and its port answers", Cluster: rollTiKV(func(c *plantest.Cluster) {
			unready(silent(c, "t-tikv-0", time.Hour), time.Hour).Database.Answer = state.Answered
		})},
		{Name: "a PD member was removed, upkeep has never labelled its claim, and others serve with its template", Cluster: notListed(func(_ *plantest.Cluster, m *state.Member) {
			m.Claims[0].Identity.Labels = nil
		})},
		{Name: "the same, and no member serves with its template", Cluster: notListed(func(_ *plantest.Cluster, m *state.Member) {
			m.Claims[0].Identity.Labels, m.Pod.Revision = nil, "v0"
		})},
		{Name: "a claim names a cluster, and PD does not say of which cluster it is", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-pd-1")
			c.Seen.PD.ClusterID = 0
		})},
		{Name: "the replacement of a store is lost as well", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour)
			replacement(c, tikv)
			lost(c, time.Hour, "t-tikv-4")
		})},
		{Name: "a store that PD calls Down answers, and is to be given up now", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			c.Member("t-tikv-1").Database.Answer, c.Policy.Failover.Now = state.Answered, true
		})},
		{Name: "a voter is down for three minutes, and the leader of PD is new", Cluster: failing(func(c *plantest.Cluster) {
			lost(c, 3*m, "t-pd-1")
			c.Member("t-pd-1").Database.Since = plantest.Now.Add(-3 * m)
			c.Seen.PD.LeaderSince = plantest.Now.Add(-m)
		})},
		{Name: "PD has removed a voter that was given up and is not wanted any more", Cluster: notListed(func(c *plantest.Cluster, _ *state.Member) {
			given(c, "t-pd-2", time.Hour)
			c.Want(pd).Replicas = 2
		})},
		{Name: "PD has removed a store that was given up with its data and is not wanted any more", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-3")
			given(c, "t-tikv-3", time.Hour, discarded)
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
			c.Want(tikv).Replicas = 3
		})},
		{Name: "the store whose data is discarded leaves, and nothing brings it back", Cluster: with(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			given(c, "t-tikv-1", time.Hour, discarded)
			replacement(c, tikv)
			c.Removing("t-tikv-1", 10*m)
			c.Seen.PD.UpStores++ // it was not up before
		})},
	})
}

// TestDownSince: since when a member is reported to be down.
func TestDownSince(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *plantest.Cluster, m *state.Member)
		since  time.Duration // zero: not known
	}{
		"its heartbeat is from before a suspension, and its pod is missing for a moment": {func(c *plantest.Cluster, m *state.Member) {
			lost(c, 8*time.Hour, m.Name)
			given(c, m.Name, 9*time.Hour)
			m.Pod, m.Gone = nil, plantest.Now.Add(-time.Minute)
		}, time.Minute},
		"it crashes again and again, and answers just now": {func(c *plantest.Cluster, m *state.Member) {
			crashed(c, m.Name, 9, 80*time.Minute, 5*time.Second, 160*time.Second, 5*time.Second)
			m.Database.Healthy, m.Database.Since, m.Database.Answer = false, plantest.Now.Add(-50*time.Minute), state.Answered
		}, 0},
		"the pod of a server is not ready, and its status port answers": {func(c *plantest.Cluster, _ *state.Member) {
			unready(c.Member("t-tidb-1"), time.Hour).Database.Answer = state.Answered
		}, 0},
	} {
		c := failing(func(c *plantest.Cluster) { tc.change(c, c.Member("t-tikv-1")) })
		all := plan.LostMembers(component.Profiles(), c.Policy, c.Wanted, c.Seen)
		if len(all) != 1 || all[0].Since.IsZero() != (tc.since == 0) || tc.since != 0 && plantest.Now.Sub(all[0].Since) != tc.since {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

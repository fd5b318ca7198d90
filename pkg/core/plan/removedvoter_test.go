package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestVoterRemovedFromPD: PD does not know a member whose pod a rollout has reached. The rollout
// waits for the member. The member needs new data if PD listed it before, which the labels of its
// claim show.
func TestVoterRemovedFromPD(t *testing.T) {
	removedVoter := func(c *plantest.Cluster) *state.Member {
		lost(c, time.Hour, "t-pd-2")
		m := c.Roll(pd).Member("t-pd-2")
		m.Pod.Revision = c.Seen.Groups[pd].Set.UpdateRevision
		m.Database = state.Database{Presence: state.Absent}
		c.Seen.PD.Members, c.Seen.PD.Healthy = 2, 2
		return m
	}
	above := func(c *plantest.Cluster, reads func(m *state.Member)) {
		m := removedVoter(c)
		m.Pod.Revision, m.Claims[0].Marked = "v1", true
		reads(c.Member("t-pd-1"))
	}
	now := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := failing(changes...)
		c.Policy.Failover.Now = true
		return c
	}
	unlabelled := func(c *plantest.Cluster) { removedVoter(c).Claims[0].Identity.Labels = nil }
	plantest.Table(t, "removed-voter", []plantest.Case{
		{Name: "PD knew it once", Cluster: failing(func(c *plantest.Cluster) { removedVoter(c) })},
		{Name: "PD knew it once, and no more members may be given up", Cluster: failing(func(c *plantest.Cluster) {
			removedVoter(c)
			lost(c, time.Hour, "t-pd-1")
			given(c, "t-pd-1", time.Hour, deleted)
			c.Member("t-pd-1").Database = state.Database{Presence: state.Absent}
			c.Want(pd).MaxFailures, c.Seen.PD.Members, c.Seen.PD.Healthy = 1, 1, 1
		})},
		{Name: "PD has never known it", Cluster: failing(func(c *plantest.Cluster) { removedVoter(c).Claims[0].Identity.Labels = nil })},
		{Name: "PD of another cluster knew it once", Cluster: failing(func(c *plantest.Cluster) {
			removedVoter(c).Claims[0].Identity.Labels[topology.LabelClusterID] = "8"
		})},
		{Name: "another member serves with its template, and its data is of another cluster", Cluster: failing(func(c *plantest.Cluster) {
			removedVoter(c).Claims[0].Identity.Labels = map[string]string{topology.LabelClusterID: "8"}
			c.Rolled(pd, 1)
		})},
		{Name: "no rollout, and its data is of another cluster", Cluster: failing(func(c *plantest.Cluster) {
			removedVoter(c).Claims[0].Identity.Labels[topology.LabelClusterID] = "8"
			c.Set(pd, func(s *state.Set) { s.UpdateRevision = "v1" })
			c.Member("t-pd-2").Pod.Revision = "v1"
		})},
		{Name: "PD knew it once, and a run that is not asked to give it up", Cluster: with(func(c *plantest.Cluster) { removedVoter(c) })},
		{Name: "PD knew it once, and its claim is going", Cluster: failing(func(c *plantest.Cluster) { removedVoter(c).Claims[0].Terminating = true })},
		{Name: "a member below it runs and does not serve", Cluster: with(func(c *plantest.Cluster) {
			above(c, func(m *state.Member) { m.Database.Healthy, m.Database.Answer = false, state.Refused })
		})},
		{Name: "the same, with the new template already", Cluster: with(func(c *plantest.Cluster) {
			above(c, func(m *state.Member) {
				m.Database.Healthy, m.Database.Answer, m.Pod.Revision = false, state.Refused, "v2"
			})
		})},
		{Name: "the same, and another one serves with the new template", Cluster: with(func(c *plantest.Cluster) {
			c.Rolled(pd, 0)
			above(c, func(m *state.Member) {
				m.Database.Healthy, m.Database.Answer, m.Pod.Revision = false, state.Refused, "v2"
			})
		})},
		{Name: "its process runs with the old template, though PD does not list it", Cluster: with(func(c *plantest.Cluster) {
			m := removedVoter(c)
			m.Pod.Revision, m.Pod.Ready, m.Pod.Started = "v1", true, plantest.Now.Add(-2*time.Minute)
		})},
		{Name: "the same, and it has just begun to run", Cluster: with(func(c *plantest.Cluster) {
			m := removedVoter(c)
			m.Pod.Revision, m.Pod.Ready, m.Pod.Started = "v1", true, plantest.Now.Add(-119*time.Second)
		})},
		{Name: "a member below it does not serve, and is not restarted while its claim is going", Cluster: with(func(c *plantest.Cluster) {
			above(c, func(m *state.Member) {
				m.Database.Healthy, m.Database.Answer, m.Claims[0].Terminating = false, state.Refused, true
			})
		})},
		{Name: "PD of another cluster knew it once, and it is to be given up now", Cluster: now(func(c *plantest.Cluster) {
			removedVoter(c).Claims[0].Identity.Labels[topology.LabelClusterID] = "8"
		})},
		{Name: "PD has never known it, and it is to be given up now", Cluster: now(func(c *plantest.Cluster) { unlabelled(c) })},
		{Name: "the same, and another member has its template and is down", Cluster: now(func(c *plantest.Cluster) {
			unlabelled(c)
			c.Rolled(pd, 1).Down(time.Minute, "t-pd-1")
			c.Seen.PD.Members, c.Seen.PD.Healthy = 3, 2 // one is elsewhere
		})},
		{Name: "the same, and another member has its template and crashes again and again", Cluster: now(func(c *plantest.Cluster) {
			unlabelled(c)
			looping(c.Rolled(pd, 1).Member("t-pd-1").Pod)
			c.Member("t-pd-1").Pod.Started = plantest.Now.Add(-20 * time.Second)
		})},
		{Name: "the same, and another member serves with its template", Cluster: now(func(c *plantest.Cluster) {
			unlabelled(c)
			c.Rolled(pd, 1).Member("t-pd-1").Pod.Started = plantest.Now.Add(-20 * time.Second)
		})},
		{Name: "a store that PD has forgotten is to be given up now, and no more may be", Cluster: now(func(c *plantest.Cluster) {
			lost(c, time.Hour, "t-tikv-1")
			lost(c, time.Hour, "t-tikv-2")
			given(c, "t-tikv-2", time.Hour)
			c.Member("t-tikv-1").Database = state.Database{Presence: state.Absent}
			c.Want(tikv).MaxFailures = 1
		})},
		{Name: "all below it serve", Cluster: with(func(c *plantest.Cluster) { above(c, func(*state.Member) {}) })},
	})
}

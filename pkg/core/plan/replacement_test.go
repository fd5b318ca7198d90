package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestReplacement: members that a user has named leave the database one at a time, and come back with new volumes.
func TestReplacement(t *testing.T) {
	plantest.Waits(t, "replacement", []plantest.Case{
		{Name: "a store leaves", Cluster: replaced(plantest.New(3, 4, 2), "t-tikv-1")},
		{Name: "its leaders leave before", Cluster: replaced(plantest.New(3, 4, 2), "t-tikv-1").Evicting("t-tikv-1", time.Minute, 2)},
		{Name: "its regions leave", Cluster: replaced(plantest.New(3, 4, 2), "t-tikv-1").Removing("t-tikv-1", time.Minute)},
		{Name: "nobody asks for it any more", Cluster: plantest.New(3, 4, 2).Removing("t-tikv-1", time.Minute)},
		{Name: "two stores: the one that leaves already first", Cluster: replaced(plantest.New(3, 5, 2), "t-tikv-1", "t-tikv-3").Removing("t-tikv-1", time.Minute)},
		{Name: "two stores: from the highest ordinal", Cluster: replaced(plantest.New(3, 5, 2), "t-tikv-1", "t-tikv-3")},
		{Name: "another store is down", Cluster: replaced(plantest.New(3, 5, 2), "t-tikv-1").Down(time.Minute, "t-tikv-2")},
		{Name: "too few stores", Cluster: replaced(plantest.New(3, 3, 2), "t-tikv-1")},
		{Name: "too few stores, with a spare one that is to be there before", Cluster: spare(replaced(plantest.New(3, 3, 2), "t-tikv-1"))},
		{Name: "its regions leave, and another store was given up: its replacement gives them room", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-tikv-3").Removing("t-tikv-3", time.Minute).Down(time.Hour, "t-tikv-0"), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-0")
			m.Database.State = state.StoreDown
			c.Want(tikv).Failures = []topology.Failure{{Member: m.Name, ID: m.Database.ID, Created: plantest.Now.Add(-time.Minute)}}
		})},
		{Name: "a person has taken it offline, and asks for a spare store", Cluster: spare(replaced(plantest.New(3, 3, 2), "t-tikv-1").Offline("t-tikv-1"))},
		{Name: "the spare store does not start", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-tikv-1"), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			spare(c).Down(time.Hour, "t-tikv-3")
		})},
		{Name: "the spare store has the claim of an earlier one, which is being deleted", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-tikv-1"), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			spare(c).Down(time.Minute, "t-tikv-3")
			m := c.Member("t-tikv-3")
			m.Database.State, m.Pod.Ran, m.Pod.Terminating = state.StoreTombstone, false, true
			m.Claims[0].Marked, m.Claims[0].Terminating = true, true
		})},
		{Name: "a tombstone that a person has removed from PD's list", Cluster: edit(tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-1")
			m.Database, m.Pod.Ran = state.Database{Presence: state.Absent}, true
			m.Claims[0].Identity.Labels = map[string]string{topology.LabelStoreID: "2"}
		})},
		{Name: "a tombstone", Cluster: tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1")},
		{Name: "a tombstone, and another class is wanted since: the StatefulSet is made again first", Cluster: otherClass(tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"))},
		{Name: "a tombstone, another class is wanted since, and a rollout waits for the store", Cluster: otherClass(tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1").Roll(tikv))},
		{Name: "a tombstone, whose claims are deleted", Cluster: edit(tombstone(replaced(plantest.New(3, 4, 2), "t-tikv-1"), "t-tikv-1"), func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Claims[0].Terminating = true
		})},
		{Name: "the next one waits for the first, whose store is new", Cluster: edit(replaced(plantest.New(3, 5, 2), "t-tikv-1", "t-tikv-3"), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Claims[0].UID = "new"
			c.Down(time.Minute, "t-tikv-3")
		})},
		{Name: "it has new claims", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-tikv-1"), func(c *plantest.Cluster) { c.Member("t-tikv-1").Claims[0].UID = "new" })},
		{Name: "a member of PD", Cluster: replaced(plantest.New(3, 4, 2), "t-pd-1")},
		{Name: "all of PD: the leader comes last", Cluster: replaced(plantest.New(3, 4, 2), "t-pd-0", "t-pd-1", "t-pd-2")},
		{Name: "PD's leader", Cluster: replaced(plantest.New(3, 4, 2), "t-pd-0")},
		{Name: "PD's leader, and a member whose turn comes later", Cluster: replaced(plantest.New(3, 4, 2), "t-pd-0", "t-pd-1")},
		{Name: "the only member of PD", Cluster: replaced(plantest.New(1, 4, 2), "t-pd-0")},
		{Name: "PD without a second healthy member", Cluster: replaced(plantest.New(3, 4, 2), "t-pd-1").Down(time.Minute, "t-pd-2")},
		{Name: "a member of PD that is to leave has no pod, and the one to be replaced is down: that one need not wait for itself", Cluster: edit(replaced(plantest.New(5, 4, 2), "t-pd-1").Down(time.Hour, "t-pd-4", "t-pd-1"), func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 4
			c.Set(pd, func(s *state.Set) { s.Replicas = 4 })
			m := c.Member("t-pd-4")
			m.Pod, m.Claims[0].Marked = nil, true
		})},
		{Name: "a member of PD that is to leave has no pod: PD does without its vote first", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-pd-0").Down(time.Hour, "t-pd-2"), func(c *plantest.Cluster) {
			c.Want(pd).Replicas = 2
			c.Set(pd, func(s *state.Set) { s.Replicas = 2 })
			m := c.Member("t-pd-2")
			m.Pod, m.Claims[0].Marked = nil, true
		})},
		{Name: "a member that PD has removed", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-pd-1", "t-pd-2"), func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pd-2")
			m := c.Member("t-pd-2")
			m.Pod.Ran = true
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			c.Seen.PD.Members--
		})},
		{Name: "a member that PD has removed, whose process runs again", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-pd-1", "t-pd-2"), func(c *plantest.Cluster) {
			runsRemoved(c)
			c.Member("t-pd-2").Claims[0].Identity.Labels = map[string]string{topology.LabelMemberID: "7"}
		})},
		{Name: "a member that PD has removed, whose claim nobody has labelled", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-pd-1", "t-pd-2"), func(c *plantest.Cluster) {
			runsRemoved(c)
			c.Member("t-pd-2").Claims[0].Identity.Labels = nil
		})},
		{Name: "a server has no data", Cluster: replaced(plantest.New(3, 4, 2), "t-tidb-1")},
		{Name: "a rollout waits for the replacement", Cluster: replaced(plantest.New(3, 4, 2).Roll(tikv), "t-tikv-1")},
		{Name: "scaled in: the member leaves for good", Cluster: edit(replaced(plantest.New(3, 4, 2), "t-tikv-3"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
	})
}

// runsRemoved has PD remove a member whose process has just started again.
func runsRemoved(c *plantest.Cluster) {
	m := c.Member("t-pd-2")
	m.Pod.Ran, m.Pod.Ready, m.Pod.Started = true, false, plantest.Now.Add(-5*time.Second)
	m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
	c.Seen.PD.Members--
	c.Seen.PD.Healthy--
}

// replaced asks for new volumes of members.
func replaced(c *plantest.Cluster, names ...string) *plantest.Cluster {
	for _, name := range names {
		m := c.Member(name)
		g := c.Want(m.Kind)
		if g.Replacements == nil {
			g.Replacements = map[string]topology.MemberReplacement{}
		}
		r := topology.MemberReplacement{At: plantest.Now}
		for _, claim := range m.Claims {
			r.Claims = append(r.Claims, claim.UID)
		}
		g.Replacements[name] = r
	}
	return c
}

// spare asks for a spare store until the members that are named have new volumes.
func spare(c *plantest.Cluster) *plantest.Cluster {
	g := c.Want(tikv)
	for name, r := range g.Replacements {
		r.Spare = true
		g.Replacements[name] = r
	}
	g.Spare = g.SpareFor(c.Seen.Groups[tikv])
	return c
}

// tombstone makes a store a tombstone, whose claims are marked.
func tombstone(c *plantest.Cluster, name string) *plantest.Cluster {
	c.Down(time.Minute, name)
	m := c.Member(name)
	m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
	return c
}

// otherClass asks for volumes of another storage class.
func otherClass(c *plantest.Cluster) *plantest.Cluster {
	c.Volumes(tikv, 10<<30, 10<<30)
	c.Want(tikv).Volumes[0].Class = "fast"
	return c
}

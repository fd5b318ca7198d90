package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestServersWithNewVolumes: servers that a user has named restart one at a time, and come back with new volumes.
func TestServersWithNewVolumes(t *testing.T) {
	plantest.Waits(t, "servers-with-new-volumes", []plantest.Case{
		{Name: "nobody asks", Cluster: servers()},
		{Name: "a server, whose claim is marked first", Cluster: servers("t-tidb-1")},
		{Name: "its claim is deleted", Cluster: goes(servers("t-tidb-1"), "t-tidb-1", false)},
		{Name: "it restarts", Cluster: goes(servers("t-tidb-1"), "t-tidb-1", true)},
		{Name: "its pod ends", Cluster: edit(goes(servers("t-tidb-1", "t-tidb-0"), "t-tidb-1", true), func(c *plantest.Cluster) {
			c.Down(time.Second, "t-tidb-1")
			c.Member("t-tidb-1").Pod.Terminating = true
		})},
		{Name: "its pod is gone", Cluster: edit(goes(servers("t-tidb-1", "t-tidb-0"), "t-tidb-1", true), func(c *plantest.Cluster) {
			c.Down(time.Second, "t-tidb-1")
			c.Member("t-tidb-1").Pod = nil
		})},
		{Name: "its next pod does not serve yet", Cluster: edit(servers("t-tidb-1", "t-tidb-0"), func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Claims[0].UID = "new"
			c.Down(time.Second, "t-tidb-1")
		})},
		{Name: "all, from the highest ordinal", Cluster: servers("t-tidb-0", "t-tidb-1", "t-tidb-2")},
		{Name: "another one is down", Cluster: servers("t-tidb-1").Down(time.Minute, "t-tidb-0")},
		{Name: "all, and one is down, which comes first", Cluster: servers("t-tidb-0", "t-tidb-1", "t-tidb-2").Down(time.Hour, "t-tidb-0")},
		{Name: "two are down, and new volumes may be all that they need", Cluster: servers("t-tidb-0", "t-tidb-1").Down(time.Hour, "t-tidb-0", "t-tidb-1")},
		{Name: "with OnDelete: it has crashed a moment ago, and another one fails with the template that it would get", Cluster: edit(manual(servers("t-tidb-1").Roll(tidb)), func(c *plantest.Cluster) {
			c.Member("t-tidb-0").Pod.Revision = "v2"
			c.Down(time.Hour, "t-tidb-0").Down(time.Second, "t-tidb-1")
		})},
		{Name: "with OnDelete: it has been down for long, and new volumes may help", Cluster: edit(manual(servers("t-tidb-1").Roll(tidb)), func(c *plantest.Cluster) {
			c.Member("t-tidb-0").Pod.Revision = "v2"
			c.Down(time.Hour, "t-tidb-0", "t-tidb-1")
		})},
		{Name: "after a rollout, which restarts those that it reaches with new volumes", Cluster: servers("t-tidb-0", "t-tidb-2").Roll(tidb)},
		{Name: "a rollout of PD comes first", Cluster: servers("t-tidb-1").Roll(pd)},
		{Name: "the StatefulSet is made again first", Cluster: smaller(servers("t-tidb-0", "t-tidb-1", "t-tidb-2"))},
		{Name: "the StatefulSet is made again after a rollout", Cluster: smaller(servers("t-tidb-0", "t-tidb-1", "t-tidb-2").Roll(tidb))},
		{Name: "with OnDelete", Cluster: manual(servers("t-tidb-1"))},
		{Name: "it is called off while its claim is being deleted", Cluster: goes(servers(), "t-tidb-1", true)},
		{Name: "it was called off while its claim was being deleted, and larger volumes are wanted", Cluster: edit(going(servers(), "t-tidb-1"), larger)},
		{Name: "it was called off while its claim was being deleted, and another VolumeAttributesClass is wanted", Cluster: edit(going(servers(), "t-tidb-1"), gold)},
		{Name: "it is replaced while its claim is being deleted, and larger volumes are wanted", Cluster: edit(goes(servers("t-tidb-1"), "t-tidb-1", true), larger)},
		{Name: "its pod ends, and its claim with it", Cluster: edit(going(servers(), "t-tidb-1"), larger, func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Pod.Terminating = true
		})},
	})
}

// servers returns a cluster whose servers have claims, and of which a user has named some for new volumes.
func servers(names ...string) *plantest.Cluster {
	c := plantest.New(3, 4, 3)
	log := topology.Volume{Name: "tidb-log", Size: 1 << 30}
	c.Want(tidb).Volumes = []topology.Volume{log}
	c.Set(tidb, func(s *state.Set) { s.Volumes = map[string]state.ClaimTemplate{log.Name: {Size: log.Size}} })
	for i := range c.Seen.Groups[tidb].Members {
		m := &c.Seen.Groups[tidb].Members[i]
		m.Claims = []state.Claim{{
			Name: log.Name + "-" + m.Name, UID: "claim-" + m.Name, Template: log.Name, Requested: log.Size, Capacity: log.Size, Bound: true,
			Growth: state.Growable,
		}}
		m.Pod.Claims = []string{m.Claims[0].Name}
	}
	return replaced(c, names...)
}

// goes marks the claim of a member. The claim may be deleted as well, while its pod uses the claim.
func goes(c *plantest.Cluster, name string, deleted bool) *plantest.Cluster {
	claim := &c.Member(name).Claims[0]
	claim.Marked, claim.Terminating = true, deleted
	return c
}

// going has the claim of a member deleted, which has no mark any more. Its pod uses the claim.
func going(c *plantest.Cluster, name string) *plantest.Cluster {
	c.Member(name).Claims[0].Terminating = true
	return c
}

// larger asks for volumes of servers of twice their size. All claims but those that are being deleted have that size.
func larger(c *plantest.Cluster) {
	want := &c.Want(tidb).Volumes[0]
	want.Size *= 2
	claims(c, tidb, func(c *state.Claim) {
		if !c.Terminating {
			c.Requested, c.Capacity = want.Size, want.Size
		}
	})
	c.Set(tidb, func(s *state.Set) { s.Volumes[want.Name] = state.ClaimTemplate{Size: want.Size} })
}

// gold asks for another VolumeAttributesClass of volumes of servers. All claims but those that are being deleted have
// it.
func gold(c *plantest.Cluster) {
	want := &c.Want(tidb).Volumes[0]
	want.Attributes = "gold"
	claims(c, tidb, func(c *state.Claim) {
		if !c.Terminating {
			c.Attributes, c.Modified = "gold", "gold"
		}
	})
	c.Set(tidb, func(s *state.Set) { s.Volumes[want.Name] = state.ClaimTemplate{Size: want.Size, Attributes: "gold"} })
}

// smaller asks for volumes of servers with half of their size.
func smaller(c *plantest.Cluster) *plantest.Cluster {
	c.Want(tidb).Volumes[0].Size /= 2
	return c
}

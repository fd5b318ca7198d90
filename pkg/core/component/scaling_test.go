package component_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestScalingRows decides what tidb-operator is known to get wrong.
func TestScalingRows(t *testing.T) {
	gone := state.Database{Presence: state.Absent}
	dead := state.Database{Presence: state.Present, ID: 4, State: state.StoreTombstone}
	noPod := func(name string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Down(time.Minute, name).Member(name).Pod = nil }
	}
	more := func(kind topology.Kind, change func(m *state.Member)) *plantest.Cluster {
		c := plantest.New(3, 4, 2)
		c.Want(kind).Replicas++
		m := c.Add(kind)
		m.Database = gone
		change(m)
		return c
	}
	offline := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		return in(tikv, append(changes, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database.State, m.Database.Healthy, m.Database.Regions = state.StoreOffline, false, 7
			c.Seen.PD.UpStores--
		})...)
	}
	plantest.Table(t, "scaling-rows", []plantest.Case{
		{Name: "pd-B2: the leader moves, and the move is awaited, before the member goes", Cluster: in(pd, func(c *plantest.Cluster) { lead(c, "t-pd-2") })},
		{Name: "pd-B4: the member is removed and its pod is missing", Cluster: in(pd, func(c *plantest.Cluster) {
			m := c.Member("t-pd-2")
			m.Pod, m.Database, m.Claims = nil, gone, nil
		})},
		{Name: "pd-B5: a dead member can go", Cluster: in(pd, noPod("t-pd-2"), func(c *plantest.Cluster) { c.Member("t-pd-2").Claims[0].Marked = true })},
		{Name: "pd-B5, pd-B6: the last member cannot", Cluster: func() *plantest.Cluster {
			c := plantest.New(1, 3, 1)
			c.Want(pd).Replicas = 0
			return c
		}()},
		{Name: "pd-B7: a marked claim goes first", Cluster: more(pd, func(m *state.Member) { m.Claims[0].Marked = true })},
		{Name: "pd-B7: and is waited for", Cluster: more(pd, func(m *state.Member) { m.Claims[0].Marked, m.Claims[0].Terminating = true, true })},
		{Name: "pd-B8: the last member has not joined", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 3, 1)
			c.Want(pd).Replicas = 4
			c.Member("t-pd-2").Database = gone
			return c
		}()},
		{Name: "pd-B13: a member that has not started has no name, and goes by its id", Cluster: in(pd, func(c *plantest.Cluster) {
			c.Down(time.Minute, "t-pd-2")
			m := c.Member("t-pd-2")
			m.Database.Name, m.Claims[0].Marked = "", true
		})},
		{Name: "pd-B26: PD grows, and TiKV and TiDB do not wait", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2)
			c.Want(pd).Replicas = 7
			delete(c.Seen.Groups, tidb)
			c.Want(tidb).Set.Drift = desired.Missing
			return c
		}()},
		{Name: "tikv-11-7, tidb-S3: a claim without a mark", Cluster: more(tikv, func(*state.Member) {})},
		{Name: "tikv-11-11: a tombstone can go while another is down", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database = dead
			c.Member("t-tikv-3").Claims[0].Marked = true
			c.Seen.PD.UpStores, c.Seen.PD.Stores = 3, 3
			c.Down(time.Minute, "t-tikv-1")
		})},
		{Name: "tikv-11-11: one that never joined can go while another is down", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-3", "t-tikv-1")
			m := c.Member("t-tikv-3")
			m.Database, m.Claims[0].Marked = gone, true
		})},
		{Name: "tikv-11-11: a store that is Down can go", Cluster: in(tikv, func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Database.State = state.StoreDown
		})},
		{Name: "a new store leaves, which PD calls Down until its first heartbeat", Cluster: in(tikv, func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database.State, m.Database.New, m.Database.Regions, m.Database.Leaders = state.StoreDown, true, 0, 0
			c.Seen.PD.UpStores = 2
		})},
		{Name: "tikv-11-41: regions have no place to go", Cluster: offline(func(c *plantest.Cluster) { c.Seen.PD.MaxReplicas = 5 })},
		{Name: "tikv-11-41: it takes long", Cluster: in(tikv, func(c *plantest.Cluster) { c.Removing("t-tikv-3", 2*time.Hour).Member("t-tikv-3").Database.Regions = 7 })},
		{Name: "tikv-11-17: other components continue", Cluster: offline(func(c *plantest.Cluster) { c.Want(tidb).Replicas++ })},
		{Name: "tidb-S4: the pod of the one to go is missing", Cluster: in(tidb, noPod("t-tidb-1"))},
		{Name: "tidb-B28: one that is slow to come does not keep others", Cluster: func() *plantest.Cluster {
			c := plantest.New(3, 4, 2)
			c.Want(tidb).Replicas, c.Want(tidb).ScaleOut = 5, 2
			c.Down(time.Minute, "t-tidb-1").Member("t-tidb-1").Database = gone
			return c
		}()},
	})
}

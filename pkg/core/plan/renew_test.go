package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRenew: which members get new data. A member that may still join, or whose data others could
// need, keeps its data.
func TestRenew(t *testing.T) {
	removed := func(name string, changes ...func(m *state.Member)) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Down(time.Hour, name)
			if m := c.Member(name); m.Kind == pd {
				c.Seen.PD.Members--
			}
			m := c.Member(name)
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			for _, change := range changes {
				change(m)
			}
		}
	}
	ready := func(m *state.Member) { m.Pod.Ready = true }
	runs := func(ago time.Duration) func(m *state.Member) {
		return func(m *state.Member) { m.Pod.Started = plantest.Now.Add(-ago) }
	}
	dataBeingDeleted := func(name string, changes ...func(m *state.Member)) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Down(time.Minute, name)
			m := c.Member(name)
			m.Claims[0].Terminating = true
			for _, change := range changes {
				change(m)
			}
			switch {
			case m.Kind == pd && m.Database.Healthy:
				c.Seen.PD.Healthy++
			case m.Database.State == state.StoreUp:
				c.Seen.PD.UpStores++
			}
		}
	}
	marked := func(m *state.Member) { m.Claims[0].Marked = true }
	serves := func(m *state.Member) { m.Pod.Ready, m.Pod.Started, m.Database.Healthy = true, m.Pod.Since, true }
	up := func(m *state.Member) { serves(m); m.Database.State = state.StoreUp }
	leaves := func(m *state.Member) { m.Database.State = state.StoreOffline }
	three := func(c *plantest.Cluster) { *c = *plantest.New(3, 3, 1) }
	rolls := func(c *plantest.Cluster) { c.Roll(pd) }
	tombstone := func(name string, changes ...func(m *state.Member)) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Down(time.Hour, name)
			m := c.Member(name)
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
			for _, change := range changes {
				change(m)
			}
		}
	}
	plantest.Table(t, "renew", []plantest.Case{
		{Name: "a PD member that was removed crashes", Cluster: with(removed("t-pd-2"))},
		{Name: "it runs, and may be about to join", Cluster: with(removed("t-pd-2", runs(facts.Registering-time.Second)))},
		{Name: "it runs for too long to be about to join", Cluster: with(removed("t-pd-2", runs(facts.Registering)))},
		{Name: "it has not run yet", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Pod.Ran = false }))},
		{Name: "its claim is not marked", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Claims[0].Marked = false }))},
		{Name: "its claim is going", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Claims[0].Terminating = true }))},
		{Name: "it has joined, and its claim is going", Cluster: with(dataBeingDeleted("t-pd-2"))},
		{Name: "it serves, and its claim is going", Cluster: with(dataBeingDeleted("t-pd-2", marked, serves))},
		{Name: "it is to be restarted, and its claim is going", Cluster: with(rolls, dataBeingDeleted("t-pd-2", marked, serves))},
		{Name: "it is down, is to be restarted, and its claim is going", Cluster: with(rolls, dataBeingDeleted("t-pd-2", marked))},
		{Name: "there is no quorum, and its claim is going", Cluster: with(rolls, dataBeingDeleted("t-pd-2", marked), func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pd-0", "t-pd-1").PDUnknown()
			c.Seen.PD.Leaderless = true
		})},
		{Name: "its claim is going, and another is down", Cluster: with(dataBeingDeleted("t-pd-2", marked, serves), func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-1") })},
		{Name: "its claim is going, and more are wanted", Cluster: with(dataBeingDeleted("t-pd-2", marked, serves), func(c *plantest.Cluster) { c.Want(pd).Replicas = 4 })},
		{Name: "its claim is going, and it is the only one", Cluster: with(func(c *plantest.Cluster) { *c = *plantest.New(1, 3, 1) }, dataBeingDeleted("t-pd-0", marked, serves), rolls)},
		{Name: "its claim is going, and its pod has gone", Cluster: with(dataBeingDeleted("t-pd-2", marked, func(m *state.Member) { m.Pod = nil }))},
		{Name: "its claim is going, its pod has gone, and a rollout would begin with it", Cluster: with(rolls, dataBeingDeleted("t-pd-2", func(m *state.Member) { m.Pod = nil }))},
		{Name: "its claim is going, and PD has removed it in a rollout", Cluster: with(rolls, removed("t-pd-2", func(m *state.Member) {
			m.Claims[0].Terminating, m.Claims[0].Marked = true, false
		}))},
		{Name: "its claim is going, it is down, and not wanted", Cluster: with(dataBeingDeleted("t-pd-2"), func(c *plantest.Cluster) { c.Want(pd).Replicas = 2 })},
		{Name: "its claim is going, and neither it nor the one above it is wanted", Cluster: with(
			func(c *plantest.Cluster) { *c = *plantest.New(5, 3, 1) }, dataBeingDeleted("t-pd-3", marked, serves), func(c *plantest.Cluster) { c.Want(pd).Replicas = 3 })},
		{Name: "its claim is going, it is down, and more are wanted", Cluster: with(dataBeingDeleted("t-pd-2", marked), func(c *plantest.Cluster) { c.Want(pd).Replicas = 4 })},
		{Name: "its pod is going", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Pod.Terminating = true }))},
		{Name: "it has no claim", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Claims = nil }))},
		{Name: "PD does not speak of it", Cluster: with(removed("t-pd-2", func(m *state.Member) { m.Database = state.Database{} }))},
		{Name: "another PD member is down", Cluster: with(removed("t-pd-2"), func(c *plantest.Cluster) { c.Down(time.Minute, "t-pd-1") })},
		{Name: "another PD member was given up and removed, and its pod is Ready and has not joined", Cluster: with(removed("t-pd-2"), func(c *plantest.Cluster) {
			given(c, "t-pd-1", time.Hour, deleted)
			m := c.Member("t-pd-1")
			m.Database = state.Database{Presence: state.Absent}
			c.Seen.PD.Members, c.Seen.PD.Healthy = 1, 1
		})},
		{Name: "it is not wanted", Cluster: with(removed("t-pd-2"), func(c *plantest.Cluster) { c.Want(pd).Replicas = 2 })},
		{Name: "two PD members were removed: one after the other", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
		}, removed("t-pd-1"), removed("t-pd-2"))},
		{Name: "two PD members were removed, and the processes of both run", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
		}, removed("t-pd-1", ready, runs(time.Hour)), removed("t-pd-2", ready, runs(time.Hour)))},
		{Name: "two PD members were removed, and the pod of the lower one cannot start", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
		}, removed("t-pd-1", func(m *state.Member) { m.Pod.Ran = false }), removed("t-pd-2"))},
		{Name: "two PD members were removed, and the pod of the lower one is going", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy = 6, 6
		}, removed("t-pd-1", func(m *state.Member) { m.Pod.Terminating = true }), removed("t-pd-2"))},
		{Name: "the lower one of them is the first", Cluster: with(func(c *plantest.Cluster) {
			c.Seen.PD.Members, c.Seen.PD.Healthy, c.Seen.PD.Leader = 6, 6, "t-pd-2"
		}, removed("t-pd-0", func(m *state.Member) { m.Pod.Terminating = true }), removed("t-pd-1"))},
		{Name: "a PD member was removed, and the claim of the leader is going", Cluster: with(removed("t-pd-2"), dataBeingDeleted("t-pd-0", serves))},
		{Name: "a store is a tombstone", Cluster: with(tombstone("t-tikv-1"))},
		{Name: "a store is a tombstone, and its pod runs", Cluster: with(tombstone("t-tikv-1", runs(time.Second)))},
		{Name: "a store is a tombstone, and has not run yet", Cluster: with(tombstone("t-tikv-1", func(m *state.Member) { m.Pod.Ran = false }))},
		{Name: "a store is a tombstone, its claim is not marked", Cluster: with(tombstone("t-tikv-1", func(m *state.Member) { m.Claims[0].Marked = false }))},
		{Name: "a store is a tombstone, its claim is going", Cluster: with(tombstone("t-tikv-1", func(m *state.Member) { m.Claims[0].Terminating = true }))},
		{Name: "a store is a tombstone, its eviction goes on", Cluster: with(tombstone("t-tikv-1"), func(c *plantest.Cluster) { c.Evicting("t-tikv-1", time.Minute, 0) })},
		{Name: "a store serves, and its claim is going", Cluster: with(dataBeingDeleted("t-tikv-1", up))},
		{Name: "it is to be restarted, and evicts, and its claim is going", Cluster: with(dataBeingDeleted("t-tikv-3", up), func(c *plantest.Cluster) {
			c.Roll(tikv).Evicting("t-tikv-3", time.Minute, 0)
		})},
		{Name: "another one is to be restarted, and evicts", Cluster: with(dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) {
			c.Roll(tikv).Evicting("t-tikv-3", time.Minute, 0)
		})},
		{Name: "a store is down, is to be restarted, and its claim is going", Cluster: with(dataBeingDeleted("t-tikv-3"), func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "a store's pod is going as well", Cluster: with(dataBeingDeleted("t-tikv-1", func(m *state.Member) { m.Pod.Terminating = true }))},
		{Name: "the store whose claim is going is unknown", Cluster: with(dataBeingDeleted("t-tikv-3", func(m *state.Member) { m.Database = state.Database{} }), func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "PD has forgotten the store whose claim is going", Cluster: with(dataBeingDeleted("t-tikv-3", func(m *state.Member) {
			m.Database = state.Database{Presence: state.Absent}
		}), func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "a store leaves, and its claim is going", Cluster: with(dataBeingDeleted("t-tikv-1", up, leaves))},
		{Name: "a claim is going, a peer fails, and a tombstone above is not wanted", Cluster: with(tombstone("t-tikv-3"), dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) {
			c.Roll(tikv).Down(time.Hour, "t-tikv-2")
			c.Want(tikv).Replicas = 3
		})},
		{Name: "a claim is going, and a store that has not joined yet was not wanted for a moment", Cluster: with(dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			delete(m.Claims[0].Identity.Labels, topology.LabelStoreID)
			c.Seen.PD.Stores--
			c.Seen.PD.UpStores--
		})},
		{Name: "a claim is going, and PD has forgotten a store that was removed", Cluster: with(dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
			m.Claims[0].Identity.Labels = map[string]string{topology.LabelStoreID: "4"}
			c.Seen.PD.Stores--
			c.Seen.PD.UpStores--
		})},
		{Name: "there are no more stores than copies, and a claim is going", Cluster: with(three, dataBeingDeleted("t-tikv-1", up))},
		{Name: "one more is wanted, and a claim is going", Cluster: with(three, dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 4 })},
		{Name: "one more is wanted, and a store is down whose claim is going", Cluster: with(three, dataBeingDeleted("t-tikv-1"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 4 })},
		{Name: "one more is wanted, and a store leaves already whose claim is going", Cluster: with(dataBeingDeleted("t-tikv-1"), func(c *plantest.Cluster) {
			c.Removing("t-tikv-1", time.Minute)
			c.Want(tikv).Replicas = 5
		})},
		{Name: "one fewer is wanted, and its claim is going", Cluster: with(dataBeingDeleted("t-tikv-3", up), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 })},
		{Name: "claims of two stores are going: one after the other", Cluster: with(dataBeingDeleted("t-tikv-1", up), dataBeingDeleted("t-tikv-2", up))},
		{Name: "a store is a tombstone, and the claim of another is going", Cluster: with(tombstone("t-tikv-1"), dataBeingDeleted("t-tikv-2", up), func(c *plantest.Cluster) {
			c.Seen.PD.UpStores, c.Seen.PD.Stores = 4, 4 // one is in another Kubernetes cluster
		})},
		{Name: "a store above is a tombstone, for which another one waits in order, and a claim is going", Cluster: with(
			dataBeingDeleted("t-tikv-0", up), tombstone("t-tikv-1"), func(c *plantest.Cluster) {
				c.Set(tikv, func(s *state.Set) { s.Ordered = true })
				c.Member("t-tikv-3").Pod = nil
			})},
		{Name: "a claim is going, another one waits for its store in order, which was ready a moment ago", Cluster: with(dataBeingDeleted("t-tikv-1"), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true })
			c.Member("t-tikv-3").Pod = nil
		})},
		{Name: "a claim is going, another one waits for its store in order, which has not been ready for long", Cluster: with(dataBeingDeleted("t-tikv-1"), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true })
			c.Member("t-tikv-3").Pod, c.Member("t-tikv-1").Pod.Since = nil, plantest.Now.Add(-time.Hour)
		})},
		{Name: "the same, which has crashed often", Cluster: with(dataBeingDeleted("t-tikv-1", up), func(c *plantest.Cluster) {
			crashed(c, "t-tikv-1", 4, time.Hour, time.Minute, time.Second, 40*time.Second)
			c.Set(tikv, func(s *state.Set) { s.Ordered = true })
			m := c.Member("t-tikv-3") // it has yet to start for the first time
			m.Pod, m.Claims, m.Database = nil, nil, state.Database{Presence: state.Absent}
			unready(c.Member("t-tikv-1"), 9*time.Second)
		})},
		{Name: "the claim of a TiDB server is going", Cluster: with(func(c *plantest.Cluster) {
			m := c.Roll(tidb).Member("t-tidb-2")
			m.Claims, m.Pod.Claims = []state.Claim{{Name: "log-t-tidb-2", UID: "log", Terminating: true}}, []string{"log-t-tidb-2"}
		})},
		{Name: "a store is a tombstone, and its claim and its pod are going", Cluster: with(tombstone("t-tikv-1", func(m *state.Member) {
			m.Claims[0].Marked, m.Claims[0].Terminating, m.Pod.Terminating = false, true, true
		}))},
		{Name: "two stores are tombstones", Cluster: with(
			tombstone("t-tikv-1", func(m *state.Member) { m.Claims[0].Marked = false }),
			tombstone("t-tikv-2", func(m *state.Member) { m.Claims[0].Marked = false }))},
		{Name: "a store is a tombstone, another one is down", Cluster: with(tombstone("t-tikv-1"), func(c *plantest.Cluster) { c.Down(time.Minute, "t-tikv-2") })},
		{Name: "a store is a tombstone that is not wanted, and Kubernetes makes no pod of another one before it", Cluster: with(tombstone("t-tikv-2"), func(c *plantest.Cluster) {
			c.Set(tikv, func(s *state.Set) { s.Ordered = true })
			c.Down(time.Hour, "t-tikv-3").Member("t-tikv-3").Pod = nil
			c.Member("t-tikv-3").Database.State, c.Want(tikv).Replicas = state.StoreOffline, 2
		})},
		{Name: "PD has forgotten a store", Cluster: with(removed("t-tikv-1"))},
		{Name: "PD has forgotten the last store", Cluster: with(removed("t-tikv-3"))},
		{Name: "PD has forgotten the last store, more are wanted", Cluster: with(removed("t-tikv-3"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 6 })},
		{Name: "PD has forgotten the last store, and one above it that is wanted has no pod", Cluster: with(removed("t-tikv-3"), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 5
			c.Add(tikv).Database.State = state.StoreDown
		})},
		{Name: "the last store is a tombstone, more are wanted", Cluster: with(tombstone("t-tikv-3"), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 6 })},
	})
	// By the UIDs the step distinguishes the claim and its pod from later ones of the same name.
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		want    step.Step
	}{
		"claim": {with(removed("t-pd-2")), step.DeleteClaim{
			Component: pd, Member: "t-pd-2", Name: "pd-t-pd-2", UID: "claim-pd-2", PodUID: "uid-pd-2",
		}},
		"pod": {with(removed("t-pd-2", func(m *state.Member) { m.Claims[0].Terminating = true })), step.DeletePod{
			Component: pd, Member: "t-pd-2", UID: "uid-pd-2",
		}},
	} {
		if got := c.cluster.Decide().Steps; len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

package plan_test

import (
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// suspend returns a cluster that has converged and of which components are to be suspended.
func suspend(kinds []topology.Kind, changes ...func(c *plantest.Cluster)) *plantest.Cluster {
	c := plantest.New(3, 4, 2)
	for _, k := range kinds {
		c.Want(k).Suspend = true
		c.Set(k, func(s *state.Set) { s.UID = "set-" + string(k) })
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

// gone removes the StatefulSets and pods of components.
func gone(kinds ...topology.Kind) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, k := range kinds {
			c.Set(k, func(s *state.Set) { *s = state.Set{} })
			c.Want(k).Set.Drift = desired.Missing
			for i := range c.Seen.Groups[k].Members {
				m := &c.Seen.Groups[k].Members[i]
				m.Pod, m.Database.Healthy = nil, false
				if k == topology.TiDB {
					m.Database = state.Database{}
				}
			}
			if k == topology.PD {
				c.PDUnknown()
				c.Seen.PD.Problem = "no PD pod is running"
			}
		}
	}
}

func TestSuspend(t *testing.T) {
	all := []topology.Kind{topology.PD, topology.TiKV, topology.TiDB}
	leaving := func(k topology.Kind, ago time.Duration) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) {
			c.Set(k, func(s *state.Set) { s.Terminating = true })
			for i := range c.Seen.Groups[k].Members {
				p := c.Seen.Groups[k].Members[i].Pod
				p.Terminating, p.Since = true, plantest.Now.Add(-ago)
			}
		}
	}
	plantest.Waits(t, "suspend", []plantest.Case{
		{Name: "all, TiDB goes first", Cluster: suspend(all)},
		{Name: "TiDB is going", Cluster: suspend(all, leaving(tidb, time.Minute))},
		{Name: "pd-A15: a pod does not go", Cluster: suspend(all, leaving(tidb, time.Hour))},
		{Name: "pd-A15: a pod has just had as long as it may take", Cluster: suspend(all, leaving(tidb, 10*time.Minute))},
		{Name: "the StatefulSet goes without its pods", Cluster: suspend(all, func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { s.Terminating = true })
		})},
		{Name: "the StatefulSet goes with one of its pods", Cluster: suspend(all, func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { s.Terminating = true })
			p := c.Member("t-tidb-1").Pod
			p.Terminating, p.Since = true, plantest.Now
		})},
		{Name: "pods without a StatefulSet, and a ConfigMap that differs", Cluster: suspend(all, func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
			c.Want(tidb).Set.Drift, c.Want(tidb).Config[0].Drift = desired.Missing, desired.Differs
		})},
		{Name: "all but PD are gone, an eviction is left", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3)
		})},
		{Name: "all but PD are gone, an eviction is left, PD does not answer", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3).PDUnknown()
		})},
		{Name: "all but PD are gone, and PD is lost", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pd-0", "t-pd-1", "t-pd-2").PDUnknown()
		})},
		{Name: "the same, and stores have no data", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Down(time.Hour, "t-pd-0", "t-pd-1", "t-pd-2").PDUnknown()
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].Claims = nil
			}
		})},
		{Name: "all but PD are gone, and PD has no leader and knows the stores", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Seen.PD.Leader = ""
		})},
		{Name: "TiDB is gone, one of its servers has a claim, and PD has no leader", Cluster: suspend([]topology.Kind{tidb}, gone(tidb), func(c *plantest.Cluster) {
			c.Seen.PD.Leader = ""
			c.Member("t-tidb-0").Claims = []state.Claim{{Name: "log-t-tidb-0"}}
		})},
		{Name: "TiDB has no pods any more, but its StatefulSet", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { s.Exists, s.UID = true, "set-tidb" })
		})},
		{Name: "two stores are tombstones", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Database.State, c.Member("t-tikv-3").Database.State = state.StoreTombstone, state.StoreTombstone
		})},
		{Name: "TiDB stays while TiKV is suspended", Cluster: suspend([]topology.Kind{tikv})},
		{Name: "TiDB is gone", Cluster: suspend(all, gone(tidb))},
		{Name: "TiDB is gone but for a pod", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Pod = &state.Pod{Terminating: true, Since: plantest.Now}
		})},
		{Name: "TiKV is gone", Cluster: suspend(all, gone(tidb, tikv))},
		{Name: "tidb-S13: all are gone", Cluster: suspend(all, gone(tidb, tikv, pd))},
		{Name: "TiDB only", Cluster: suspend([]topology.Kind{tidb}, gone(tidb))},
		{Name: "pd-A15: in the middle of a rollout, and a pod is down", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb), func(c *plantest.Cluster) {
			c.Roll(tikv).Rolled(tikv, 3).Down(time.Hour, "t-tikv-3")
		})},
		{Name: "pd-A15: in the middle of a scale-in", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb), func(c *plantest.Cluster) {
			c.Want(tikv).Replicas = 3
			c.Member("t-tikv-3").Database.State = state.StoreOffline
		})},
		{Name: "in the middle of a scale-in that we began", Cluster: suspend([]topology.Kind{tikv, tidb}, gone(tidb), func(c *plantest.Cluster) {
			c.Removing("t-tikv-3", time.Minute).Want(tikv).Replicas = 3
		})},
		{Name: "a store is being evicted", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "a store was being evicted when TiKV went", Cluster: suspend(all, gone(tidb, tikv), func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "a store is being evicted, PD does not answer", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3).PDUnknown()
		})},
		{Name: "a store is being evicted, PD is lost", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Evicting("t-tikv-3", time.Minute, 3).Down(time.Hour, "t-pd-0", "t-pd-1", "t-pd-2").PDUnknown()
		})},
		{Name: "the claim of a store is going", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Claims[0].Terminating = true
		})},
		{Name: "the claim of a store is going with its pod", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Claims[0].Terminating, c.Member("t-tikv-3").Pod.Terminating = true, true
		})},
		{Name: "a store is a tombstone", Cluster: suspend(all, gone(tidb), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
		})},
		{Name: "a voter is marked, but has not been removed", Cluster: suspend(all, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = true
		})},
		{Name: "a voter is marked and removed", Cluster: suspend(all, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = true
			c.Member("t-pd-2").Database = state.Database{Presence: state.Absent}
		})},
		{Name: "a voter is marked, PD does not answer", Cluster: suspend(all, gone(tidb, tikv), func(c *plantest.Cluster) {
			c.PDUnknown().Member("t-pd-2").Claims[0].Marked = true
		})},
		{Name: "pods without a StatefulSet", Cluster: suspend(all, func(c *plantest.Cluster) {
			c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
			c.Want(tidb).Set.Drift = desired.Missing
		})},
		{Name: "pd-A9: and paused", Cluster: suspend(all, func(c *plantest.Cluster) { c.Wanted.Cluster.Paused = true })},
		{Name: "a change of mind, TiDB is going", Cluster: suspend(nil, leaving(tidb, time.Minute))},
		{Name: "resumed", Cluster: suspend(nil, gone(tidb, tikv, pd))},
		{Name: "resumed, PD serves", Cluster: suspend(nil, gone(tidb, tikv))},
	})
}

// A StatefulSet is created with as many replicas as there are members with data, whatever number is
// wanted by then.
func TestBirths(t *testing.T) {
	born := func(c *plantest.Cluster) map[topology.Kind]int {
		out := map[topology.Kind]int{}
		for _, s := range c.Decide().Steps {
			if a, ok := s.(step.Apply); ok && a.Object.Kind == "StatefulSet" {
				out[a.Component] = a.Replicas
			}
		}
		return out
	}
	want := func(k topology.Kind, n int) func(c *plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Want(k).Replicas = n }
	}
	for _, c := range []struct {
		name    string
		kind    topology.Kind
		cluster *plantest.Cluster
		want    int
	}{
		{"as before", pd, suspend(nil, gone(tidb, tikv, pd)), 3},
		{"fewer voters: the quorum is that of those there were", pd, suspend(nil, gone(tidb, tikv, pd), want(pd, 1)), 3},
		{"more voters: they join one by one", pd, suspend(nil, gone(tidb, tikv, pd), want(pd, 5)), 3},
		{"a voter was removed", pd, suspend(nil, gone(tidb, tikv, pd), want(pd, 2), func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = true
		}), 2},
		{"a marked voter without a pod, while another runs", pd, suspend(nil, gone(tidb, tikv, pd), want(pd, 2), func(c *plantest.Cluster) {
			c.Member("t-pd-2").Claims[0].Marked = true
			c.Member("t-pd-0").Pod = &state.Pod{UID: "t-pd-0", Started: plantest.Now.Add(-time.Hour)}
		}), 3},
		{"no cluster yet", pd, suspend(nil, gone(tidb, tikv, pd), func(c *plantest.Cluster) {
			c.Seen.PD.ClusterID = 0
			c.Member("t-pd-2").Claims = nil
		}), 3},
		{"fewer stores", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3)), 4},
		{"more stores", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 6)), 4},
		{"a store that is Offline", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreOffline
		}), 4},
		{"a store that is a tombstone", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
		}), 3},
		{"a store that PD has forgotten, marked", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			m := c.Member("t-tikv-3")
			m.Database, m.Claims[0].Marked = state.Database{Presence: state.Absent}, true
		}), 3},
		{"a store that PD has forgotten, with data of no member", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database = state.Database{Presence: state.Absent}
		}), 4},
		{"a voter, of which one claim of two is marked", pd, suspend(nil, gone(tidb, tikv, pd), want(pd, 2), func(c *plantest.Cluster) {
			m := c.Member("t-pd-2")
			m.Claims = append(m.Claims, state.Claim{Name: "log-t-pd-2", UID: "log", Marked: true})
		}), 3},
		{"stores, none of which has been", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 5), func(c *plantest.Cluster) {
			g := c.Seen.Groups[tikv]
			g.Members = nil
			c.Seen.Groups[tikv] = g
		}), 5},
		{"a store without a claim, which PD counts", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Claims = nil
		}), 4},
		{"a tombstone, its claim not marked yet", tikv, suspend(nil, gone(tidb, tikv), want(tikv, 3), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State = state.StoreTombstone
		}), 3},
		{"servers", tidb, suspend(nil, gone(tidb), want(tidb, 5)), 5},
		{"fewer servers, whatever claims there are", tidb, suspend(nil, gone(tidb), want(tidb, 1), func(c *plantest.Cluster) {
			c.Member("t-tidb-1").Claims = []state.Claim{{Name: "log-t-tidb-1"}}
		}), 1},
		{"more servers than pods that were left", tidb, suspend(nil, want(tidb, 5), func(c *plantest.Cluster) { orphaned(c, tidb) }), 5},
	} {
		if got, ok := born(c.cluster)[c.kind]; !ok || got != c.want {
			t.Errorf("%s: %d replicas (made: %t), want %d\n%s", c.name, got, ok, c.want, c.cluster.Text())
		}
	}
}

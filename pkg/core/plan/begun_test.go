package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestBegunBeforePause: a paused cluster says what a run has begun that stays meanwhile, and since when. In a cluster
// that is not paused, and of what has ended or is another's, nothing is said.
func TestBegunBeforePause(t *testing.T) {
	evicting := func(c *plantest.Cluster) { c.Evicting("t-tikv-1", 5*time.Minute, 0) }
	for name, c := range map[string]struct {
		change func(*plantest.Cluster)
		member string
		says   string // "" for nothing
		also   string // a command
	}{
		"nothing":  {change: func(*plantest.Cluster) {}},
		"eviction": {evicting, "t-tikv-1", "PD keeps region leaders off store 2 since 20", "evict-leader t t-tikv-1 --stop"},
		"eviction, PD unknown": {func(c *plantest.Cluster) { evicting(c); c.PDUnknown() }, "t-tikv-1",
			"to keep region leaders off store 2, and may still do so", "resume t"},
		"eviction, schedulers unknown": {func(c *plantest.Cluster) { evicting(c); c.Seen.PD.SchedulersUnknown = true }, "t-tikv-1", "may still do so", "resume t"},
		"eviction without a scheduler": {change: func(c *plantest.Cluster) { c.Recorded("t-tikv-1", time.Minute) }},
		"eviction that has ended":      {change: func(c *plantest.Cluster) { evicting(c); c.Seen.Evictions[0].Ended = plantest.Now }},
		"removal": {func(c *plantest.Cluster) { c.Removing("t-tikv-2", time.Hour) }, "t-tikv-2",
			"PD moves the regions off store 3 since 20", "resume t"},
		"removal that is over": {change: func(c *plantest.Cluster) {
			c.Removing("t-tikv-2", time.Hour).Member("t-tikv-2").Database.State = state.StoreTombstone
		}},
		"removal by another person": {change: func(c *plantest.Cluster) { c.Offline("t-tikv-2") }},
		"store of no member any more": {func(c *plantest.Cluster) {
			c.Seen.Removals = []state.Removal{{StoreID: 99, Member: "t-tikv-9", Since: plantest.Now}}
		}, "t-tikv-9", "to move the regions off store 99, and may still do so", "resume t"},
		"partition open": {func(c *plantest.Cluster) {
			c.Roll(topology.TiKV).Set(topology.TiKV, func(s *state.Set) { s.Partition = 2 })
		}, "t-tikv-2", "Kubernetes restarts the pod during the pause", "resume t"},
		"partition closed": {change: func(c *plantest.Cluster) {
			c.Roll(topology.TiKV).Set(topology.TiKV, func(s *state.Set) { s.Partition = 3 })
		}},
		"restarts by hand": {change: func(c *plantest.Cluster) {
			c.Roll(topology.TiKV).Set(topology.TiKV, func(s *state.Set) { s.Partition, s.Manual = 0, true })
		}},
		"no StatefulSet": {func(c *plantest.Cluster) { c.Set(topology.TiKV, func(s *state.Set) { *s = state.Set{} }) }, "",
			"StatefulSet t-tikv does not exist, so that Kubernetes does not replace these pods when they end: t-tikv-0, t-tikv-1, t-tikv-2", "resume t"},
		"suspended": {change: func(c *plantest.Cluster) {
			c.Want(topology.TiKV).Suspend = true
			c.Set(topology.TiKV, func(s *state.Set) { *s = state.Set{} })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, paused := range []bool{true, false} {
				cluster := plantest.New(3, 3, 2)
				c.change(cluster)
				cluster.Wanted.Cluster.Paused = paused
				n := 0
				for _, f := range cluster.Decide().Notices {
					if f.Reason != event.BegunBeforePause {
						continue
					}
					n++
					help := f.Remedy.Line("")
					if !strings.Contains(f.Text, c.says) || f.Member != c.member || f.Component != topology.TiKV || !strings.Contains(help, "kubectl tidb "+c.also) {
						t.Errorf("%s %s: %s\n%s", f.Component, f.Member, f.Text, help)
					}
				}
				if want := paused && c.says != ""; n > 1 || (n == 1) != want {
					t.Errorf("paused %t: %d findings, want any: %t", paused, n, want)
				}
			}
		})
	}
}

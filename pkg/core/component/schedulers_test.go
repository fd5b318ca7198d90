package component_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// unloaded makes PD one that has not loaded its schedulers, for some time.
func unloaded(ago time.Duration) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		c.Seen.PD.SchedulersUnknown, c.Seen.PD.LeaderSince = true, plantest.Now.Add(-ago)
	}
}

// TestSchedulersUnknown: while PD loads its schedulers, none is made or removed, and
// what needs none goes on.
func TestSchedulersUnknown(t *testing.T) {
	recorded := func(name string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) { c.Recorded(name, time.Minute) }
	}
	asleep := func(c *plantest.Cluster) {
		for _, k := range []topology.Kind{tikv, tidb} {
			c.Want(k).Suspend = true
		}
		c.Set(tidb, func(s *state.Set) { *s = state.Set{} })
		g := c.Seen.Groups[tidb]
		g.Members = nil
		c.Seen.Groups[tidb] = g
	}
	at := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 4, 2)
		for _, change := range changes {
			change(c)
		}
		return c
	}
	plantest.Waits(t, "schedulers-unknown", []plantest.Case{
		{Name: "nothing needs them", Cluster: at(unloaded(time.Second))},
		{Name: "before a restart", Cluster: roll(tikv, unloaded(time.Second))},
		{Name: "before a restart, for longer than PD takes", Cluster: roll(tikv, unloaded(6*time.Minute))},
		{Name: "before a restart, and it is unknown since when PD's leader leads", Cluster: roll(tikv, unloaded(0), func(c *plantest.Cluster) { c.Seen.PD.LeaderSince = time.Time{} })},
		{Name: "before a restart of a store whose leaders have to stay", Cluster: roll(tikv, unloaded(time.Second), copies(1))},
		{Name: "before a removal", Cluster: in(tikv, unloaded(time.Second))},
		{Name: "a store is a tombstone", Cluster: in(tikv, unloaded(time.Second), recorded("t-tikv-3"), func(c *plantest.Cluster) {
			c.Member("t-tikv-3").Database.State, c.Member("t-tikv-3").Database.Healthy = state.StoreTombstone, false
		})},
		{Name: "after a restart", Cluster: at(unloaded(time.Second), recorded("t-tikv-3"))},
		{Name: "an eviction has ended, only the record is left", Cluster: at(unloaded(time.Second), recorded("t-tikv-3"), func(c *plantest.Cluster) {
			c.Seen.Evictions[0].Ended = plantest.Now
		})},
		{Name: "the store of an eviction is gone", Cluster: at(unloaded(time.Second), func(c *plantest.Cluster) {
			c.Seen.Evictions = []state.Eviction{{StoreID: 99, Member: "t-tikv-9", Since: plantest.Now}}
		})},
		{Name: "a store is to be suspended", Cluster: at(unloaded(time.Second), recorded("t-tikv-3"), asleep)},
		{Name: "a store that tidb-operator evicts", Cluster: at(unloaded(time.Second), begun("t-tikv-3"))},
		{Name: "PD and TiDB are rolled", Cluster: at(unloaded(time.Second), func(c *plantest.Cluster) { c.Roll(pd).Roll(tidb) })},
	})
}

// TestUndo: what is taken back at the end of a run, and what that has to wait for.
func TestUndo(t *testing.T) {
	c := plantest.New(3, 3, 1).Recorded("t-tikv-1", time.Minute).Recorded("t-tikv-2", time.Minute)
	c.Seen.Evictions[1].Ended = plantest.Now
	plan := func() string {
		steps, gates := plan.Undo(c.Wanted, c.Seen)
		return fmt.Sprint(steps, gates)
	}
	if got, want := plan(), "[allow region leaders on t-tikv-1 allow region leaders on t-tikv-2] []"; got != want {
		t.Errorf("got %s", got)
	}
	unloaded(time.Second)(c)
	if got, want := plan(), "[allow region leaders on t-tikv-2] [PD has not loaded its schedulers]"; got != want {
		t.Errorf("got %s", got)
	}
}

// begun gives pods tidb-operator's mark of an eviction.
func begun(names ...string) func(c *plantest.Cluster) {
	return func(c *plantest.Cluster) {
		for _, name := range names {
			c.Member(name).Pod.EvictionBegun = plantest.Now.Add(-10 * time.Minute)
		}
	}
}

// TestEvictionsOfOperator: what tidb-operator began to evict is taken over, and its
// mark goes with it.
func TestEvictionsOfOperator(t *testing.T) {
	at := func(changes ...func(c *plantest.Cluster)) *plantest.Cluster {
		c := plantest.New(3, 4, 2)
		for _, change := range changes {
			change(c)
		}
		return c
	}
	plantest.Table(t, "evictions-of-operator", []plantest.Case{
		{Name: "in mid-upgrade", Cluster: at(begun("t-tikv-3"), evicted("t-tikv-3"), func(c *plantest.Cluster) { c.Roll(tikv) })},
		{Name: "the upgrade was called off", Cluster: at(begun("t-tikv-3"), evicted("t-tikv-3"))},
		{Name: "the store is not wanted", Cluster: in(tikv, begun("t-tikv-3"), evicted("t-tikv-3"))},
		{Name: "it is recorded, the mark is left", Cluster: at(begun("t-tikv-3"), func(c *plantest.Cluster) { c.Evicting("t-tikv-3", time.Minute, 3) })},
		{Name: "only the mark is left", Cluster: at(begun("t-tikv-3"))},
		{Name: "the scheduler is another user's", Cluster: at(evicted("t-tikv-3"))},
		{Name: "the pod is going", Cluster: at(begun("t-tikv-3"), evicted("t-tikv-3"), func(c *plantest.Cluster) { c.Member("t-tikv-3").Pod.Terminating = true })},
		{Name: "PD does not answer", Cluster: at(begun("t-tikv-3"), func(c *plantest.Cluster) { c.PDUnknown() })},
	})
}

// TestFindings: schedulers of others on wanted stores are reported.
func TestFindings(t *testing.T) {
	foreign := func(c *plantest.Cluster) {
		c.Evicting("t-tikv-2", time.Minute, 3)
		c.Seen.Evictions[0].Foreign = true
	}
	ours := func(c *plantest.Cluster) { c.Evicting("t-tikv-2", time.Minute, 3) }
	for name, c := range map[string]struct {
		changes []func(c *plantest.Cluster)
		want    []string
	}{
		"nothing":                         {nil, nil},
		"ours":                            {[]func(*plantest.Cluster){ours}, nil},
		"another user's":                  {[]func(*plantest.Cluster){evicted("t-tikv-0", "t-tikv-2")}, []string{"t-tikv-0", "t-tikv-2"}},
		"another user's, that we use":     {[]func(*plantest.Cluster){foreign}, []string{"t-tikv-2"}},
		"another user's, not wanted":      {[]func(*plantest.Cluster){evicted("t-tikv-3")}, nil},
		"nothing is known of PD":          {[]func(*plantest.Cluster){evicted("t-tikv-0"), func(c *plantest.Cluster) { c.PDUnknown() }}, nil},
		"the mark of tidb-operator is on": {[]func(*plantest.Cluster){evicted("t-tikv-0"), begun("t-tikv-0")}, []string{"t-tikv-0"}},
	} {
		var got []string
		for _, f := range in(tikv, c.changes...).Decide().Notices {
			got = append(got, f.Member)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	f := in(tikv, evicted("t-tikv-0")).Decide().Notices[0]
	if f.Component != tikv || f.Text != "store 1 leads no regions: a user or another tool made an evict-leader scheduler for it in PD" {
		t.Errorf("got %s %s", f.Component, f.Text)
	}
	if got := f.Remedy.Line(""); got != "remove it: kubectl tidb evict-leader t t-tikv-0 --stop -n ns" {
		t.Error(got)
	}
}

package leader

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestTransfer: the leader moves only to a member that serves.
func TestTransfer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plantest.Cluster)
		to     string
		says   string
		code   exit.Code
	}{
		"to another":             {to: "t-pd-2"},
		"to another, in short":   {to: "pd-2"},
		"it leads":               {to: "t-pd-0"},
		"a component":            {to: "pd", says: "pd is no member of PD", code: exit.Usage},
		"not a member":           {to: "t-pd-7", says: "its members are t-pd-0, t-pd-1, t-pd-2", code: exit.Usage},
		"of another component":   {to: "t-tikv-0", says: "t-tikv-0 is no member of PD", code: exit.Usage},
		"it does not serve":      {change: down("t-pd-2"), to: "t-pd-2", says: "t-pd-2 does not serve (no answer)", code: exit.Refused},
		"PD does not answer":     {change: func(c *plantest.Cluster) { c.Seen.PD = state.PD{Problem: "no pod runs"} }, to: "t-pd-2", says: "no pod runs", code: exit.Failure},
		"PD elects a leader now": {change: func(c *plantest.Cluster) { c.Seen.PD.Leader = ""; c.Member("t-pd-0").Database.Leader = false }, to: "t-pd-2", says: "elects one by itself", code: exit.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 2)
			if c.change != nil {
				c.change(cluster)
			}
			move, err := transfer(cluster.Wanted.Cluster, cluster.Seen, c.to)
			refused(t, err, c.says, c.code)
			if want := strings.HasPrefix(name, "to another"); (move != nil) != want {
				t.Errorf("%v", move)
			}
			if move != nil && (move.From != "t-pd-0" || move.To != "t-pd-2" || move.FromName != cluster.Seen.PD.Leader || move.ToName == "") {
				t.Errorf("%+v", move)
			}
		})
	}
}

// TestEvict: leaders have to find another store, and an eviction of a run is left to it.
func TestEvict(t *testing.T) {
	evicting := func(names ...string) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			for _, name := range names {
				c.Member(name).Database.Evicting = true
			}
		}
	}
	recorded := func(foreign bool) func(*plantest.Cluster) {
		return func(c *plantest.Cluster) {
			evicting("t-tikv-1")(c)
			id := c.Member("t-tikv-1").Database.ID
			c.Seen.Evictions = []state.Eviction{{StoreID: id, Member: "t-tikv-1", Foreign: foreign}}
		}
	}
	for name, c := range map[string]struct {
		change func(*plantest.Cluster)
		begun  bool
		says   string
		code   exit.Code // 0: it is refused
	}{
		"a store":                   {},
		"evicted already":           {change: evicting("t-tikv-1"), begun: true},
		"evicted by a run":          {change: recorded(false), says: "if it was interrupted, go on: kubectl tidb sync t -n ns"},
		"a person's, seen by a run": {change: recorded(true), begun: true},
		"all others are evicted":    {change: evicting("t-tikv-0", "t-tikv-2"), says: "no other store"},
		"all others are down":       {change: func(c *plantest.Cluster) { down("t-tikv-0")(c); down("t-tikv-2")(c) }, says: "no other store"},
		"all others are new": {change: func(c *plantest.Cluster) {
			c.Member("t-tikv-0").Database.New, c.Member("t-tikv-2").Database.New = true, true
		}, says: "no other store"},
		"it leaves": {change: func(c *plantest.Cluster) { c.Offline("t-tikv-1") }},
		"PD moves no leaders": {change: func(c *plantest.Cluster) { c.Seen.PD.Scheduling.NoLeaders = true },
			says: "config set leader-schedule-limit 4"},
		"it never joined": {change: func(c *plantest.Cluster) {
			c.Member("t-tikv-1").Database = state.Database{Presence: state.Absent}
		}, says: "PD has no store"},
		"PD has a new leader": {change: func(c *plantest.Cluster) { c.Seen.PD.SchedulersUnknown = true }, says: "try again", code: exit.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := plantest.New(3, 3, 2)
			if c.change != nil {
				c.change(cluster)
			}
			for _, name := range []string{"t-tikv-1", "tikv-1"} {
				m, err := evict(cluster.Wanted.Cluster, cluster.Seen, name)
				refused(t, err, c.says, cmp.Or(c.code, exit.Refused))
				if err == nil && (m.Name != "t-tikv-1" || m.Database.ID == 0 || m.Database.Evicting != c.begun) {
					t.Errorf("%s: %s, store %d, begun %t", name, m.Name, m.Database.ID, m.Database.Evicting)
				}
			}
		})
	}
}

// TestStopWhilePaused: in a paused cluster no run ends its eviction, so that a person may. In any other a run does.
func TestStopWhilePaused(t *testing.T) {
	for paused, says := range map[bool]string{true: "", false: "kubectl tidb sync t -n ns"} {
		c := plantest.New(3, 3, 2).Evicting("t-tikv-1", time.Minute, 0)
		c.Wanted.Cluster.Paused = paused
		m, err := allowed(c.Wanted.Cluster, c.Seen, "tikv-1")
		refused(t, err, says, exit.Refused)
		if err == nil && (m.Name != "t-tikv-1" || !m.Database.Evicting) {
			t.Errorf("%+v", m)
		}
	}
	c := plantest.New(3, 3, 2).Evicting("t-tikv-1", time.Minute, 0)
	c.Wanted.Cluster.Paused = true
	_, err := evict(c.Wanted.Cluster, c.Seen, "tikv-1")
	refused(t, err, "kubectl tidb resume t -n ns", exit.Refused)
}

func down(name string) func(*plantest.Cluster) {
	return func(c *plantest.Cluster) {
		m := c.Member(name)
		m.Database.Healthy, m.Database.Problem = false, "no answer"
	}
}

func refused(t *testing.T, err error, says string, code exit.Code) {
	t.Helper()
	switch {
	case says == "" && err != nil:
		t.Error(err)
	case says != "" && (err == nil || !strings.Contains(err.Error(), says) || exit.Of(err) != code):
		t.Errorf("%v, exit code %d; want %q", err, exit.Of(err), says)
	}
}

// TestEvictElsewhere: a store elsewhere that is missing keeps no leaders on a store, but the user is warned, by the
// rule of a restart.
func TestEvictElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*plantest.Cluster)
		says   string
	}{
		"none":      {func(*plantest.Cluster) {}, ""},
		"all serve": {func(c *plantest.Cluster) { c.Seen.PD.Stores++; c.Seen.PD.UpStores++ }, ""},
		"one is down": {
			func(c *plantest.Cluster) {
				c.Seen.PD.Stores++
				c.Seen.PD.Elsewhere = []state.StoreElsewhere{{ID: 99, Address: "far-tikv-0:20160", State: state.StoreDown}}
			},
			"do not take t-tikv-1 down: PD does not call 1 store Up that is no member of this cluster: far-tikv-0:20160 (Down); see which stores these are",
		},
		"one of ours is down": {down("t-tikv-2"), ""},
	} {
		cluster := plantest.New(3, 3, 1)
		c.change(cluster)
		m, err := evict(cluster.Wanted.Cluster, cluster.Seen, "t-tikv-1")
		if err != nil {
			t.Fatal(name, err)
		}
		got := warnOfStoresElsewhere(cluster.Wanted.Cluster, cluster.Seen, m, "")
		if (got == "") != (c.says == "") || !strings.HasPrefix(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

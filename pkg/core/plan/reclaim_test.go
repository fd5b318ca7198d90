package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// left adds a member that was removed: its claims are marked, and the database
// has removed it.
func left(c *plantest.Cluster, k topology.Kind) *state.Member {
	c.Wanted.Cluster.Reclaims = true
	m := c.Add(k)
	m.Claims[0].Marked = true
	m.Database = state.Database{Presence: state.Absent}
	return m
}

// storesNotListed suspends stores of which one was removed; PD does not list any of them yet.
func storesNotListed(c *plantest.Cluster) {
	gone(tikv, tidb)(c)
	left(c, tikv).Database = state.Database{}
	c.Want(tikv).Suspend, c.Want(tidb).Suspend, c.Seen.PD.Bootstrapped = true, true, false
}

func TestReclaim(t *testing.T) {
	const kv, pds = "act\ndelete left-over claim tikv-t-tikv-4 and its volume", "act\ndelete left-over claim pd-t-pd-3 and its volume"
	const nothing = "converged"
	for name, tc := range map[string]struct {
		change func(c *plantest.Cluster)
		want   string
	}{
		"PD has forgotten the store": {func(c *plantest.Cluster) { left(c, tikv) }, kv},
		"a tombstone": {func(c *plantest.Cluster) {
			left(c, tikv).Database = state.Database{Presence: state.Present, State: state.StoreTombstone, ID: 5}
		}, kv},
		"a PD member": {func(c *plantest.Cluster) { left(c, pd) }, pds},
		"tidb-B9: TiDB's claims, too": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			g := c.Seen.Groups[tidb]
			g.Members = append(g.Members, state.Member{
				Kind: tidb, Ordinal: 3, Name: "t-tidb-3", Claims: []state.Claim{{Name: "tidb-log-t-tidb-3", Marked: true}},
			})
			c.Seen.Groups[tidb] = g
		}, "act\ndelete left-over claim tidb-log-t-tidb-3 and its volume"},
		"one at a time": {func(c *plantest.Cluster) { left(c, tikv); left(c, tikv) }, kv},
		"the user does not ask for it": {func(c *plantest.Cluster) {
			left(c, tikv)
			c.Wanted.Cluster.Reclaims = false
		}, nothing},
		"it is not marked": {func(c *plantest.Cluster) { left(c, tikv).Claims[0].Marked = false }, nothing},
		"its data is of another cluster than PD's": {func(c *plantest.Cluster) {
			left(c, tikv).Claims[0].Identity.Labels = map[string]string{topology.LabelClusterID: "6"}
		}, nothing},
		"TiDB keeps no data of another cluster": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			other := state.Claim{Name: "tidb-log-t-tidb-3", Marked: true, Identity: state.Identity{Labels: map[string]string{topology.LabelClusterID: "6"}}}
			g := c.Seen.Groups[tidb]
			g.Members = append(g.Members, state.Member{Kind: tidb, Ordinal: 3, Name: "t-tidb-3", Claims: []state.Claim{other}})
			c.Seen.Groups[tidb] = g
		}, "act\ndelete left-over claim tidb-log-t-tidb-3 and its volume"},
		"it is going already":             {func(c *plantest.Cluster) { left(c, tikv).Claims[0].Terminating = true }, nothing},
		"PD does not speak of this store": {func(c *plantest.Cluster) { left(c, tikv).Database = state.Database{} }, nothing},
		"PD speaks of no stores": {func(c *plantest.Cluster) {
			left(c, tikv)
			c.Seen.PD.Bootstrapped = false
			c.Wanted.Groups = c.Wanted.Groups[:2]
		}, nothing},
		"PD has not listed its suspended stores yet": {func(c *plantest.Cluster) {
			gone(tikv, tidb)(c)
			left(c, tikv)
			c.Want(tikv).Suspend, c.Want(tidb).Suspend, c.Seen.PD.Bootstrapped = true, true, false
		}, "wait\n? TiKV: PD has not listed its stores"},
		"there have never been stores": {func(c *plantest.Cluster) {
			gone(tikv, tidb)(c)
			left(c, tikv)
			c.Want(tikv).Suspend, c.Want(tidb).Suspend, c.Seen.PD.Bootstrapped = true, true, false
			for i := range c.Seen.Groups[tikv].Members {
				c.Seen.Groups[tikv].Members[i].Claims = nil
			}
		}, nothing},
		"there are no suspended stores, but a claim of one that was removed": {func(c *plantest.Cluster) {
			storesNotListed(c)
			for i := range 4 {
				c.Seen.Groups[tikv].Members[i].Claims = nil
			}
		}, nothing},
		"two removed stores, one of which is not marked": {func(c *plantest.Cluster) {
			storesNotListed(c)
			c.Add(tikv).Database = state.Database{}
		}, "wait\n? TiKV: PD has not listed its stores"},
		"no suspended store was removed": {func(c *plantest.Cluster) {
			storesNotListed(c)
			c.Member("t-tikv-4").Claims[0].Marked = false
		}, nothing},
		"the mark of a suspended store that is wanted": {func(c *plantest.Cluster) {
			storesNotListed(c)
			c.Member("t-tikv-4").Claims[0].Marked = false
			m := c.Member("t-tikv-1")
			m.Database, m.Claims[0].Marked = state.Database{}, true
		}, nothing},
		"a server was removed, and PD speaks of no stores": {func(c *plantest.Cluster) {
			storesNotListed(c)
			m := c.Add(tidb)
			m.Database, m.Claims = state.Database{}, []state.Claim{{Name: "log-t-tidb-3", Marked: true}}
			g := c.Seen.Groups[tikv]
			g.Members = nil
			c.Seen.Groups[tikv] = g
		}, "act\ndelete left-over claim log-t-tidb-3 and its volume"},
		"a PD member was removed, and PD speaks of no stores": {func(c *plantest.Cluster) {
			storesNotListed(c)
			left(c, pd)
			g := c.Seen.Groups[tikv]
			g.Members = nil
			c.Seen.Groups[tikv] = g
		}, pds},
		"a server was removed, and PD is suspended as well": {func(c *plantest.Cluster) {
			storesNotListed(c)
			gone(pd)(c)
			c.Want(pd).Suspend = true
			m := c.Add(tidb)
			m.Database, m.Claims = state.Database{}, []state.Claim{{Name: "log-t-tidb-3", Marked: true}}
		}, nothing},
		"a tombstone among suspended stores, which is wanted again": {func(c *plantest.Cluster) {
			storesNotListed(c)
			c.Seen.PD.Bootstrapped = true
			c.Member("t-tikv-4").Claims[0].Marked = false
			m := c.Member("t-tikv-1")
			m.Database.State, m.Claims[0].Marked = state.StoreTombstone, true
		}, nothing},
		"tikv-11-37: a stale mark on a wanted member whose pod is restarting": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			m := c.Member("t-tikv-3")
			m.Claims[0].Marked, m.Pod = true, nil
			m.Database.Healthy = false
		}, "wait\n? t-tikv-3 not serving: no pod"},
		"tikv-11-37: a stale mark on a wanted member is taken off": {func(c *plantest.Cluster) {
			c.Wanted.Cluster.Reclaims = true
			c.Member("t-tikv-3").Claims[0].Marked = true
		}, "act\ntake the mark off tikv-t-tikv-3"},
	} {
		t.Run(name, func(t *testing.T) {
			if p := with(tc.change).Decide(); strings.Contains(tc.want, "PD has not listed") && !p.Polls() {
				t.Error("PD is not polled")
			}
			if got := strings.TrimSpace(with(tc.change).Text()); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// Nothing that the user waits for waits until kept data is deleted.
func TestReclaimComesLast(t *testing.T) {
	for name, change := range map[string]func(c *plantest.Cluster){
		"a rollout":         func(c *plantest.Cluster) { c.Roll(tidb) },
		"a wait":            func(c *plantest.Cluster) { c.Down(time.Minute, "t-tidb-0") },
		"a wait for a user": func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-0") },
		"PD is unknown":     func(c *plantest.Cluster) { c.PDUnknown() },
	} {
		t.Run(name, func(t *testing.T) {
			c := with(func(c *plantest.Cluster) { left(c, tikv) }, change)
			for _, s := range c.Decide().Steps {
				if d, ok := s.(step.DeleteClaim); ok {
					t.Errorf("%s comes before", d)
				}
			}
		})
	}
}

package component_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestDisksNearlyFull: no store is taken offline while PD puts regions onto no other store, because all disks are
// nearly full. Where a store takes some, the removal goes on, and its gate names the stores that take none.
func TestDisksNearlyFull(t *testing.T) {
	const cause = "PD puts no regions onto any other store, since their disks are nearly full (stores 1, 2, 3)"
	for name, tc := range map[string]struct {
		full   []uint64
		change func(all []state.Store)
		before string // "" where the store is taken offline
		during string // what the gate adds while regions leave
	}{
		"none":               {},
		"its own":            {full: []uint64{4}},
		"one":                {full: []uint64{2}, during: "; PD puts none of them onto store 2, since its disk is nearly full"},
		"two":                {full: []uint64{1, 2}, during: "; PD puts none of them onto stores 1, 2, since their disks are nearly full"},
		"all":                {full: []uint64{1, 2, 3}, before: cause, during: "; " + cause},
		"TiFlash takes none": {full: []uint64{1, 2, 3}, change: add(state.Store{ID: 5, State: state.StoreUp, Labels: map[string]string{"engine": "tiflash"}}), before: cause, during: "; " + cause},
		"one that leaves":    {full: []uint64{1, 2, 3}, change: add(state.Store{ID: 5, State: state.StoreOffline}), before: cause, during: "; " + cause},
		"one elsewhere has room": {full: []uint64{1, 2, 3}, change: add(state.Store{ID: 5, State: state.StoreUp, Capacity: 100, Available: 90}),
			during: "; PD puts none of them onto stores 1, 2, 3, since their disks are nearly full"},
	} {
		c := plantest.New(3, 4, 2)
		c.Want(topology.TiKV).Replicas = 3
		all := make([]state.Store, 4, 5)
		for i := range all {
			all[i] = state.Store{ID: uint64(i + 1), State: state.StoreUp, Capacity: 100, Available: 50, Regions: 30}
		}
		for _, id := range tc.full {
			all[id-1].Available = 19
		}
		if tc.change != nil {
			tc.change(all[:5])
			all = all[:5]
		}
		c.Seen.PD.Placement.Stores = all
		got := plantest.Text(c.Decide())
		if want := "blocked\n! t-tikv-3: regions not moved away: " + tc.before; tc.before != "" && got != want || tc.before == "" && !strings.HasPrefix(got, "act\n") {
			t.Errorf("%s, before: got:\n%s\nwant:\n%s", name, got, want)
		}
		c.Removing("t-tikv-3", time.Minute)
		if got := plantest.Text(c.Decide()); !strings.HasSuffix(got, "t-tikv-3: regions not moved away: 30 regions left"+tc.during) {
			t.Errorf("%s, during: got:\n%s", name, got)
		}
	}
}

func add(s state.Store) func([]state.Store) {
	return func(all []state.Store) { all[len(all)-1] = s }
}

// TestMakeRoom: the gate says how regions get a place. A scale-in is not told to add stores, because that calls it off.
func TestMakeRoom(t *testing.T) {
	const larger = "make the volumes of stores larger: kubectl tidb edit t -n ns"
	c := plantest.New(3, 4, 2)
	c.Want(topology.TiKV).Replicas = 3
	for i := range 4 {
		c.Seen.PD.Placement.Stores = append(c.Seen.PD.Placement.Stores, state.Store{ID: uint64(i + 1), State: state.StoreUp, Capacity: 100, Regions: 30})
	}
	if got := c.Decide().Gates[0].Remedy.Line(""); !strings.HasPrefix(got, larger+"; or to call it off") {
		t.Error(got)
	}
	c.Offline("t-tikv-3").Want(topology.TiKV).Replicas = 4
	if got := c.Decide().Gates[0].Remedy.Line(""); !strings.Contains(got, larger+"; or add a store, which has room: kubectl tidb scale t tikv=5 -n ns") {
		t.Error(got)
	}
}

// TestNewStoreNearlyFull: a store that is to get its share of regions gets none while its disk is nearly full.
func TestNewStoreNearlyFull(t *testing.T) {
	c := balanced(400, 410, 420, 430, 100)
	m := c.Member("t-tikv-4")
	m.Database.Capacity, m.Database.Available = 100, 10
	want := "PD puts no regions onto store 5, since its disk is nearly full"
	if got := plantest.Text(c.Decide()); !strings.HasPrefix(got, "blocked") || !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}

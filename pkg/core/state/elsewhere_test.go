package state_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestMissingElsewhere: stores that PD counts, and that are members of none of the clusters, are named when PD does
// not call them Up.
func TestMissingElsewhere(t *testing.T) {
	cluster := func(stores, up int, far []state.StoreElsewhere, ours ...state.StoreState) state.Snapshot {
		s := state.Snapshot{PD: state.PD{Stores: stores, UpStores: up, Elsewhere: far}, Groups: map[topology.Kind]state.Group{}}
		var g state.Group
		for i, shown := range ours {
			g.Members = append(g.Members, state.Member{
				Kind: topology.TiKV, Ordinal: i, Database: state.Database{Presence: state.Present, ID: uint64(i + 1), State: shown},
			})
		}
		s.Groups[topology.TiKV] = g
		return s
	}
	far := func(id uint64, shown state.StoreState, serves bool) state.StoreElsewhere {
		return state.StoreElsewhere{ID: id, Address: "10.0.0." + string(rune('0'+id)) + ":20160", State: shown, Serves: serves}
	}
	const up, down, offline, tombstone = state.StoreUp, state.StoreDown, state.StoreOffline, state.StoreTombstone
	neighbor := cluster(5, 3, []state.StoreElsewhere{far(4, offline, true), far(5, down, false)}, up, up, up)
	second := cluster(5, 3, nil, up, up, up)
	g := second.Groups[topology.TiKV]
	g.Members = []state.Member{{Kind: topology.TiKV, Database: state.Database{Presence: state.Present, ID: 4, State: offline}}}
	second.Groups[topology.TiKV] = g
	flash := cluster(3, 3, nil, up, up, up)
	flash.Groups[topology.TiFlash] = state.Group{Members: []state.Member{
		{Kind: topology.TiFlash, Database: state.Database{Presence: state.Present, ID: 9, State: down}},
	}}
	for name, tt := range map[string]struct {
		all  []state.Snapshot
		want string
	}{
		"none is asked":         {nil, ""},
		"PD does not answer":    {[]state.Snapshot{cluster(0, 0, nil)}, ""},
		"all are ours":          {[]state.Snapshot{cluster(3, 3, nil, up, up, up)}, ""},
		"one of ours is down":   {[]state.Snapshot{cluster(3, 2, nil, up, up, down)}, ""},
		"a tombstone of ours":   {[]state.Snapshot{cluster(2, 2, nil, up, up, tombstone)}, ""},
		"TiFlash is down":       {[]state.Snapshot{flash}, ""},
		"it serves":             {[]state.Snapshot{cluster(4, 4, nil, up, up, up)}, ""},
		"it is down":            {[]state.Snapshot{cluster(4, 3, []state.StoreElsewhere{far(4, down, false)}, up, up, up)}, "PD does not call 1 store Up that is no member of this cluster: 10.0.0.4:20160 (Down)"},
		"it and one of ours":    {[]state.Snapshot{cluster(4, 2, []state.StoreElsewhere{far(4, state.StoreDisconnected, false)}, up, up, down)}, "PD does not call 1 store Up that is no member of this cluster: 10.0.0.4:20160 (Disconnected)"},
		"PD gives no addresses": {[]state.Snapshot{cluster(6, 3, nil, up, up, up)}, "PD does not call 3 stores Up that are no members of this cluster"},
		"it leaves, and serves": {[]state.Snapshot{cluster(4, 3, []state.StoreElsewhere{far(4, offline, true)}, up, up, up)}, ""},
		"it leaves, and is dead": {[]state.Snapshot{cluster(4, 3, []state.StoreElsewhere{far(4, offline, false)}, up, up, up)},
			"PD does not call 1 store Up that is no member of this cluster: 10.0.0.4:20160 (Offline)"},
		"many": {[]state.Snapshot{cluster(8, 3, []state.StoreElsewhere{far(4, down, false), far(5, down, false), far(6, down, false), far(7, down, false), far(8, down, false)}, up, up, up)},
			"PD does not call 5 stores Up that are no members of this cluster: 10.0.0.4:20160 (Down), 10.0.0.5:20160 (Down), 10.0.0.6:20160 (Down), 2 more"},
		"one is of a cluster with the same PD": {[]state.Snapshot{neighbor, second}, "PD does not call 1 store Up that is no member of this cluster: 10.0.0.5:20160 (Down)"},
		"the same cluster twice":               {[]state.Snapshot{neighbor, neighbor, second}, "PD does not call 1 store Up that is no member of this cluster: 10.0.0.5:20160 (Down)"},
	} {
		if got := state.MissingElsewhere(tt.all...); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

package main

import (
	"testing"

	"github.com/ngaut/unistore/tikv/raftstore"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/zhangjinpeng1987/raft"
)

// recorder counts the events that reach the region manager.
type recorder struct{ changes, roles int }

func (r *recorder) OnPeerCreate(*raftstore.PeerEventContext, *metapb.Region)    {}
func (r *recorder) OnPeerApplySnap(*raftstore.PeerEventContext, *metapb.Region) {}
func (r *recorder) OnPeerDestroy(*raftstore.PeerEventContext)                   {}
func (r *recorder) OnSplitRegion(*metapb.Region, []*metapb.Region, []*raftstore.PeerEventContext) {
}
func (r *recorder) OnRegionConfChange(*raftstore.PeerEventContext, *metapb.RegionEpoch) { r.changes++ }
func (r *recorder) OnRoleChange(uint64, raft.StateType)                                 { r.roles++ }

func counts(t *testing.T, r *regions) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "tikv_raftstore_region_count" {
		t.Fatalf("gathered %v, %v", families, err)
	}
	found := map[string]float64{}
	for _, metric := range families[0].Metric {
		var labels []*dto.LabelPair = metric.Label
		found[labels[0].GetValue()] = metric.Gauge.GetValue()
	}
	return found
}

func peer(id uint64) *raftstore.PeerEventContext { return &raftstore.PeerEventContext{RegionId: id} }

func TestRegionCounts(t *testing.T) {
	next := &recorder{}
	r := newRegions(next)
	expect := func(what string, present, led float64) {
		t.Helper()
		if got := counts(t, r); got["region"] != present || got["leader"] != led {
			t.Errorf("%s: %v; want %v regions and %v led", what, got, present, led)
		}
	}
	expect("a new store", 0, 0)
	r.OnPeerCreate(peer(1), nil)
	r.OnPeerApplySnap(peer(2), nil)
	r.OnRoleChange(1, raft.StateLeader)
	expect("two peers", 2, 1)
	r.OnSplitRegion(nil, []*metapb.Region{{Id: 1}, {Id: 3}}, nil)
	r.OnRoleChange(3, raft.StateLeader)
	expect("after a split", 3, 2)
	r.OnRoleChange(1, raft.StateFollower)
	expect("after a transfer", 3, 1)
	r.OnPeerDestroy(peer(3))
	expect("after a removal", 2, 0)
}

func TestLateEventsOfARemovedPeerAreDropped(t *testing.T) {
	next := &recorder{}
	r := newRegions(next)
	r.OnPeerCreate(peer(1), nil)
	r.OnPeerDestroy(peer(1))
	r.OnRoleChange(1, raft.StateLeader)
	r.OnRegionConfChange(peer(1), nil)
	if next.roles != 0 || next.changes != 0 {
		t.Errorf("%+v events of a removed peer reached the region manager, which would crash", *next)
	}
	if got := counts(t, r); got["leader"] != 0 {
		t.Errorf("a removed peer is counted as a leader: %v", got)
	}
}

package main

import (
	"sync"

	"github.com/ngaut/unistore/tikv/raftstore"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/zhangjinpeng1987/raft"
)

// regions follows which regions this store has and leads, and passes every event on to the store's own region manager.
type regions struct {
	next raftstore.PeerEventObserver

	mu      sync.Mutex
	present map[uint64]bool
	led     map[uint64]bool
}

func newRegions(next raftstore.PeerEventObserver) *regions {
	return &regions{next: next, present: map[uint64]bool{}, led: map[uint64]bool{}}
}

func (r *regions) add(ids ...uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.present[id] = true
	}
}

func (r *regions) has(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.present[id]
}

func (r *regions) leads(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.led[id]
}

// OnPeerCreate implements raftstore.PeerEventObserver.
func (r *regions) OnPeerCreate(ctx *raftstore.PeerEventContext, region *metapb.Region) {
	r.add(ctx.RegionId)
	r.next.OnPeerCreate(ctx, region)
}

// OnPeerApplySnap implements raftstore.PeerEventObserver.
func (r *regions) OnPeerApplySnap(ctx *raftstore.PeerEventContext, region *metapb.Region) {
	r.add(ctx.RegionId)
	r.next.OnPeerApplySnap(ctx, region)
}

// OnPeerDestroy implements raftstore.PeerEventObserver.
func (r *regions) OnPeerDestroy(ctx *raftstore.PeerEventContext) {
	r.mu.Lock()
	delete(r.present, ctx.RegionId)
	delete(r.led, ctx.RegionId)
	r.mu.Unlock()
	r.next.OnPeerDestroy(ctx)
}

// OnSplitRegion implements raftstore.PeerEventObserver.
func (r *regions) OnSplitRegion(derived *metapb.Region, all []*metapb.Region, peers []*raftstore.PeerEventContext) {
	for _, region := range all {
		r.add(region.Id)
	}
	r.next.OnSplitRegion(derived, all, peers)
}

// OnRegionConfChange implements raftstore.PeerEventObserver. The region manager crashes on a region that it does not
// know, and a change can still be on its way when the region's peer here is destroyed.
func (r *regions) OnRegionConfChange(ctx *raftstore.PeerEventContext, epoch *metapb.RegionEpoch) {
	if r.has(ctx.RegionId) {
		r.next.OnRegionConfChange(ctx, epoch)
	}
}

// OnRoleChange implements raftstore.PeerEventObserver.
func (r *regions) OnRoleChange(id uint64, state raft.StateType) {
	r.mu.Lock()
	present := r.present[id]
	if present && state == raft.StateLeader {
		r.led[id] = true
	} else {
		delete(r.led, id)
	}
	r.mu.Unlock()
	if present {
		r.next.OnRoleChange(id, state)
	}
}

var regionCount = prometheus.NewDesc("tikv_raftstore_region_count", "Number of regions collected in region_collector.",
	[]string{"type"}, nil)

// Describe implements prometheus.Collector.
func (r *regions) Describe(out chan<- *prometheus.Desc) { out <- regionCount }

// Collect implements prometheus.Collector with the numbers of this moment: a tool that drains a store before a restart
// relies on them.
func (r *regions) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	present, led := len(r.present), len(r.led)
	r.mu.Unlock()
	gauge := func(value int, kind string) {
		out <- prometheus.MustNewConstMetric(regionCount, prometheus.GaugeValue, float64(value), kind)
	}
	gauge(present, "region")
	gauge(led, "leader")
}

package main

import (
	"bytes"
	"context"
	"sort"
	"time"

	"github.com/ngaut/unistore/pd"
	"github.com/ngaut/unistore/tikv"
	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/log"
	"go.uber.org/zap"
)

// splitting is the store with splits that br can count on. The library splits only at keys in ascending order, and
// answers without an error when nothing was split. The answer also comes before PD knows the new regions. br then skips
// files, and the restore succeeds without their rows.
type splitting struct {
	*tikv.Server
	placement pd.Client
}

// SplitRegion implements tikvpb.TikvServer.
func (s splitting) SplitRegion(ctx context.Context, request *kvrpcpb.SplitRegionRequest) (*kvrpcpb.SplitRegionResponse, error) {
	ordered := *request
	ordered.SplitKeys = ascending(request.SplitKeys)
	response, err := s.Server.SplitRegion(ctx, &ordered)
	if err != nil || response.RegionError != nil {
		return response, err
	}
	if len(response.Regions) == 0 {
		response.RegionError = &errorpb.Error{Message: "the region was not split: its leader or its borders have changed"}
		return response, nil
	}
	waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, region := range response.Regions {
		if err := s.reported(waiting, region); err != nil {
			log.Warn("PD does not know a new region yet", zap.Uint64("region", region.Id), zap.Error(err))
		}
	}
	return response, nil
}

// reported waits until PD knows a region with its borders.
func (s splitting) reported(ctx context.Context, region *metapb.Region) error {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		known, err := s.placement.GetRegionByID(ctx, region.Id)
		if err == nil && known.Meta.GetRegionEpoch().GetVersion() >= region.GetRegionEpoch().GetVersion() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}

// ascending returns keys in order, each of them once.
func ascending(keys [][]byte) [][]byte {
	sorted := append([][]byte{}, keys...)
	sort.Slice(sorted, func(i, j int) bool { return bytes.Compare(sorted[i], sorted[j]) < 0 })
	var distinct [][]byte
	for i, key := range sorted {
		if i == 0 || !bytes.Equal(key, sorted[i-1]) {
			distinct = append(distinct, key)
		}
	}
	return distinct
}

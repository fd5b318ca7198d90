package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/pingcap/br/pkg/storage"
	"github.com/pingcap/kvproto/pkg/backup"
	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/tidb/util/codec"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/parts/store/checksum"
)

// pageSize is how many pairs are read at once.
const pageSize = 256

// Backup implements backup.BackupServer. The answer has a part for each region of the range that this store leads. For
// regions that are missing, br asks the store that leads them as PD says.
func (s *Server) Backup(request *backup.BackupRequest, out backup.Backup_BackupServer) error {
	ctx := out.Context()
	if refused := s.refusal(ctx, request); refused != nil {
		return out.Send(&backup.BackupResponse{Error: refused})
	}
	files, err := open(ctx, request.StorageBackend)
	if err != nil {
		return out.Send(&backup.BackupResponse{Error: &backup.Error{Msg: err.Error()}})
	}
	for start := request.StartKey; ; {
		region, err := s.Placement.GetRegion(ctx, codec.EncodeBytes(nil, start))
		if err != nil || region.Meta == nil {
			return out.Send(&backup.BackupResponse{Error: busy("ask PD for a region: %v", err)})
		}
		end, last, err := cut(region.Meta, request.EndKey)
		if err != nil {
			return out.Send(&backup.BackupResponse{Error: &backup.Error{Msg: err.Error()}})
		}
		if s.Leads(region.Meta.Id) {
			part := portion{request: request, region: region.Meta, start: start, end: end}
			if err := out.Send(s.save(ctx, files, part)); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		start = end
	}
}

// refusal says why a request cannot be served at all. A backup of changes would need the time of each pair.
func (s *Server) refusal(ctx context.Context, request *backup.BackupRequest) *backup.Error {
	if id := s.Placement.GetClusterID(ctx); request.ClusterId != id {
		return &backup.Error{
			Msg:    "the request is for another cluster",
			Detail: &backup.Error_ClusterIdError{ClusterIdError: &backup.ClusterIDError{Current: id, Request: request.ClusterId}},
		}
	}
	if request.IsRawKv || request.StartVersion > 0 {
		return &backup.Error{Msg: "the store of the test node has no backup of raw pairs, and none of changes"}
	}
	return nil
}

// cut returns where a range ends in a region, and whether all of the range ends there.
func cut(region *metapb.Region, rangeEnd []byte) (end []byte, last bool, err error) {
	if len(region.EndKey) == 0 {
		return rangeEnd, true, nil
	}
	_, border, err := codec.DecodeBytes(region.EndKey, nil)
	if err != nil {
		return nil, false, fmt.Errorf("decode the border of region %d: %w", region.Id, err)
	}
	if len(rangeEnd) > 0 && bytes.Compare(rangeEnd, border) <= 0 {
		return rangeEnd, true, nil
	}
	return border, false, nil
}

// portion is the part of a request that is in one region.
type portion struct {
	request    *backup.BackupRequest
	region     *metapb.Region
	start, end []byte
}

// save writes a file with the pairs of a region. A range without pairs is answered without a file.
func (s *Server) save(ctx context.Context, files storage.ExternalStorage, p portion) *backup.BackupResponse {
	content, sum, problem := s.read(ctx, p)
	if problem != nil {
		return &backup.BackupResponse{Error: problem}
	}
	response := &backup.BackupResponse{StartKey: p.start, EndKey: p.end}
	if sum.Pairs == 0 {
		return response
	}
	name := fmt.Sprintf("%d_%d_%d_%x_%d_write.sst", s.ID(), p.region.Id, p.region.GetRegionEpoch().GetVersion(),
		sha256.Sum256(p.start), time.Now().UnixMilli())
	if err := files.Write(ctx, name, content); err != nil {
		return &backup.BackupResponse{Error: &backup.Error{Msg: fmt.Sprintf("write %s: %v", name, err)}}
	}
	digest := sha256.Sum256(content)
	response.Files = []*backup.File{{
		Name: name, Sha256: digest[:], StartKey: p.start, EndKey: p.end, EndVersion: p.request.EndVersion,
		Crc64Xor: sum.XOR, TotalKvs: sum.Pairs, TotalBytes: sum.Bytes, Cf: "write", Size_: uint64(len(content)),
	}}
	return response
}

// read returns the pairs of a region at the time of the backup, as the content of a file.
func (s *Server) read(ctx context.Context, p portion) ([]byte, checksum.Sum, *backup.Error) {
	file, sum := newWriter(p.request.EndVersion), checksum.Sum{}
	for start := p.start; ; {
		page, err := s.Store.KvScan(ctx, &kvrpcpb.ScanRequest{
			Context:  &kvrpcpb.Context{RegionId: p.region.Id, RegionEpoch: p.region.RegionEpoch, Peer: peerOn(p.region, s.ID())},
			StartKey: start, EndKey: p.end, Limit: pageSize, Version: p.request.EndVersion,
		})
		switch {
		case err != nil:
			return nil, sum, &backup.Error{Msg: err.Error()}
		case page.RegionError != nil:
			return nil, sum, &backup.Error{Detail: &backup.Error_RegionError{RegionError: page.RegionError}}
		case ctx.Err() != nil:
			return nil, sum, &backup.Error{Msg: ctx.Err().Error()}
		}
		for _, found := range page.Pairs {
			if found.Error != nil {
				return nil, sum, &backup.Error{Detail: &backup.Error_KvError{KvError: found.Error}}
			}
			file.add(found.Key, found.Value)
			sum.Add(found.Key, found.Value)
		}
		if len(page.Pairs) < pageSize {
			return file.Bytes(), sum, nil
		}
		start = append(page.Pairs[pageSize-1].Key, 0)
	}
}

func peerOn(region *metapb.Region, store uint64) *metapb.Peer {
	for _, peer := range region.Peers {
		if peer.StoreId == store {
			return peer
		}
	}
	return nil
}

// busy makes br ask again after a second.
func busy(format string, values ...interface{}) *backup.Error {
	region := &errorpb.Error{Message: fmt.Sprintf(format, values...), ServerIsBusy: &errorpb.ServerIsBusy{}}
	return &backup.Error{Detail: &backup.Error_RegionError{RegionError: region}}
}

package transfer

import (
	"context"
	"fmt"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/import_sstpb"
	"github.com/pingcap/tidb/util/codec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SwitchMode implements import_sstpb.ImportSSTServer. Nothing in this store is slower or faster during an import. With
// the normal mode the restore is over, and files that were not written are forgotten.
func (s *Server) SwitchMode(_ context.Context, request *import_sstpb.SwitchModeRequest) (*import_sstpb.SwitchModeResponse, error) {
	if request.Mode == import_sstpb.SwitchMode_Normal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.downloaded = nil
	}
	return &import_sstpb.SwitchModeResponse{}, nil
}

// SetDownloadSpeedLimit implements import_sstpb.ImportSSTServer. There is no limit.
func (s *Server) SetDownloadSpeedLimit(
	context.Context, *import_sstpb.SetDownloadSpeedLimitRequest,
) (*import_sstpb.SetDownloadSpeedLimitResponse, error) {
	return &import_sstpb.SetDownloadSpeedLimitResponse{}, nil
}

// Download implements import_sstpb.ImportSSTServer. Each store with a replica of the region reads the file, and answers
// which keys there are. The store that has to write the pairs reads the file again.
func (s *Server) Download(ctx context.Context, request *import_sstpb.DownloadRequest) (*import_sstpb.DownloadResponse, error) {
	pairs, _, err := fetch(ctx, request)
	if err != nil {
		return &import_sstpb.DownloadResponse{Error: &import_sstpb.Error{Message: err.Error()}}, nil
	}
	if len(pairs) == 0 {
		return &import_sstpb.DownloadResponse{IsEmpty: true}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.downloaded == nil {
		s.downloaded = map[string]*import_sstpb.DownloadRequest{}
	}
	s.downloaded[string(request.Sst.Uuid)] = request
	return &import_sstpb.DownloadResponse{
		Range:  import_sstpb.Range{Start: border(pairs[0].key), End: border(pairs[len(pairs)-1].key)},
		Length: request.Sst.Length,
	}, nil
}

// border is a key with the time that TiKV has behind each key, which br cuts off.
func border(key []byte) []byte {
	return append(codec.EncodeBytes(nil, key), make([]byte, 8)...)
}

// fetch reads the pairs of a file that belong to a region.
func fetch(ctx context.Context, request *import_sstpb.DownloadRequest) ([]pair, uint64, error) {
	files, err := open(ctx, request.StorageBackend)
	if err != nil {
		return nil, 0, fmt.Errorf("open the storage: %w", err)
	}
	content, err := files.Read(ctx, request.Name)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", request.Name, err)
	}
	pairs, version, err := readPairs(content)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", request.Name, err)
	}
	pairs, err = rewrite(pairs, request.RewriteRule, request.Sst)
	return pairs, version, err
}

// Ingest implements import_sstpb.ImportSSTServer. The store that leads the region writes the pairs, and raft brings
// them to the others.
func (s *Server) Ingest(ctx context.Context, request *import_sstpb.IngestRequest) (*import_sstpb.IngestResponse, error) {
	id := string(request.GetSst().GetUuid())
	s.mu.Lock()
	download := s.downloaded[id]
	s.mu.Unlock()
	if download == nil {
		return &import_sstpb.IngestResponse{Error: &errorpb.Error{Message: "the file was not downloaded"}}, nil
	}
	pairs, version, err := fetch(ctx, download)
	if err != nil {
		return &import_sstpb.IngestResponse{Error: &errorpb.Error{Message: err.Error()}}, nil
	}
	if problem := s.write(ctx, request.Context, pairs, version); problem != nil {
		return &import_sstpb.IngestResponse{Error: problem}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.downloaded, id)
	return &import_sstpb.IngestResponse{}, nil
}

// Compact implements import_sstpb.ImportSSTServer. Nothing depends on when the store compacts.
func (s *Server) Compact(context.Context, *import_sstpb.CompactRequest) (*import_sstpb.CompactResponse, error) {
	return &import_sstpb.CompactResponse{}, nil
}

// Upload implements import_sstpb.ImportSSTServer, which br does not need.
func (s *Server) Upload(import_sstpb.ImportSST_UploadServer) error {
	return status.Error(codes.Unimplemented, "the store of the test node takes no uploads")
}

// Write implements import_sstpb.ImportSSTServer, which br does not need.
func (s *Server) Write(import_sstpb.ImportSST_WriteServer) error {
	return status.Error(codes.Unimplemented, "the store of the test node takes no uploads")
}

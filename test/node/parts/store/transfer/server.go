// Package transfer writes the pairs of regions to external storage and brings them back, as br asks a store to do.
package transfer

import (
	"context"
	"sync"

	"github.com/ngaut/unistore/pd"
	"github.com/pingcap/br/pkg/storage"
	"github.com/pingcap/kvproto/pkg/backup"
	"github.com/pingcap/kvproto/pkg/import_sstpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"google.golang.org/grpc"
)

// Store is what the services need of the store that they belong to.
type Store interface {
	KvScan(context.Context, *kvrpcpb.ScanRequest) (*kvrpcpb.ScanResponse, error)
	KvPrewrite(context.Context, *kvrpcpb.PrewriteRequest) (*kvrpcpb.PrewriteResponse, error)
	KvCommit(context.Context, *kvrpcpb.CommitRequest) (*kvrpcpb.CommitResponse, error)
}

// Server serves backup.Backup and import_sstpb.ImportSST.
type Server struct {
	Store     Store
	Placement pd.Client
	// ID is the number that PD has given the store.
	ID func() uint64
	// Leads reports whether the store leads a region.
	Leads func(region uint64) bool

	mu         sync.Mutex
	downloaded map[string]*import_sstpb.DownloadRequest
}

// Register adds both services to the server of a store.
func (s *Server) Register(server *grpc.Server) {
	backup.RegisterBackupServer(server, s)
	import_sstpb.RegisterImportSSTServer(server, s)
}

// open connects to external storage. br has looked whether the bucket is there. Without SendCredentials the library
// takes the keys out of the request, which is kept until the file is read again.
func open(ctx context.Context, backend *backup.StorageBackend) (storage.ExternalStorage, error) {
	return storage.New(ctx, backend, &storage.ExternalStorageOptions{SkipCheckPath: backend.GetLocal() == nil, SendCredentials: true})
}

package transfer

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/ngaut/unistore/pd"
	"github.com/pingcap/kvproto/pkg/backup"
	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/tidb/util/codec"
	tikvpd "github.com/tikv/pd/client"
)

// placement is PD with regions whose borders are given.
type placement struct {
	pd.Client
	borders []string
}

// GetClusterID implements pd.Client.
func (p placement) GetClusterID(context.Context) uint64 { return 42 }

// GetRegion implements pd.Client.
func (p placement) GetRegion(_ context.Context, key []byte) (*tikvpd.Region, error) {
	start := []byte{}
	for i, border := range append(p.borders, "") {
		end := []byte{}
		if border != "" {
			end = codec.EncodeBytes(nil, []byte(border))
		}
		if len(end) == 0 || bytes.Compare(key, end) < 0 {
			peers := []*metapb.Peer{{Id: uint64(i) * 10, StoreId: 7}}
			return &tikvpd.Region{Meta: &metapb.Region{Id: uint64(i + 1), StartKey: start, EndKey: end, Peers: peers}}, nil
		}
		start = end
	}
	return nil, nil
}

// shelf is a store that has pairs, by their keys in order.
type shelf struct {
	Store
	keys    []string
	refusal *errorpb.Error
}

// KvScan implements Store.
func (s shelf) KvScan(_ context.Context, request *kvrpcpb.ScanRequest) (*kvrpcpb.ScanResponse, error) {
	response := &kvrpcpb.ScanResponse{RegionError: s.refusal}
	for _, key := range s.keys {
		inside := key >= string(request.StartKey) && (len(request.EndKey) == 0 || key < string(request.EndKey))
		if inside && len(response.Pairs) < int(request.Limit) {
			response.Pairs = append(response.Pairs, &kvrpcpb.KvPair{Key: []byte(key), Value: []byte("v")})
		}
	}
	return response, nil
}

// answers collects what br gets.
type answers struct {
	backup.Backup_BackupServer
	got []*backup.BackupResponse
}

// Context implements grpc.ServerStream.
func (a *answers) Context() context.Context { return context.Background() }

// Send implements backup.Backup_BackupServer.
func (a *answers) Send(response *backup.BackupResponse) error {
	a.got = append(a.got, response)
	return nil
}

func run(t *testing.T, server *Server, change func(*backup.BackupRequest)) []*backup.BackupResponse {
	t.Helper()
	request := &backup.BackupRequest{ClusterId: 42, StartKey: []byte("b"), EndKey: []byte("y"), EndVersion: 9}
	request.StorageBackend = &backup.StorageBackend{
		Backend: &backup.StorageBackend_Local{Local: &backup.Local{Path: t.TempDir()}},
	}
	if change != nil {
		change(request)
	}
	out := &answers{}
	if err := server.Backup(request, out); err != nil {
		t.Fatal(err)
	}
	return out.got
}

func serverOf(store Store) *Server {
	return &Server{
		Store: store, Placement: placement{borders: []string{"f", "p"}},
		ID: func() uint64 { return 7 }, Leads: func(region uint64) bool { return region != 2 },
	}
}

func TestBackupOfTheRegionsThatAreLed(t *testing.T) {
	keys := []string{"a", "b", "e", "f"}
	for i := range 2 * pageSize {
		keys = append(keys, fmt.Sprintf("p%06d", i))
	}
	keys = append(keys, "z")
	var text string
	for _, part := range run(t, serverOf(shelf{keys: keys}), nil) {
		if part.Error != nil {
			t.Fatal(part.Error)
		}
		text += fmt.Sprintf("%s-%s:", part.StartKey, part.EndKey)
		for _, file := range part.Files {
			text += fmt.Sprint(file.TotalKvs)
		}
		text += " "
	}
	// Region 2 is led elsewhere.
	if want := fmt.Sprintf("b-f:2 p-y:%d ", 2*pageSize); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestBackupWithoutPairsHasNoFile(t *testing.T) {
	parts := run(t, serverOf(shelf{}), nil)
	if len(parts) != 2 || len(parts[0].Files) != 0 || parts[0].Error != nil {
		t.Errorf("got %v", parts)
	}
}

func TestBackupPassesErrorsOfTheRegionOn(t *testing.T) {
	parts := run(t, serverOf(shelf{refusal: &errorpb.Error{NotLeader: &errorpb.NotLeader{}}}), nil)
	if len(parts) == 0 || parts[0].GetError().GetRegionError().GetNotLeader() == nil {
		t.Errorf("got %v", parts)
	}
}

func TestBackupIsRefused(t *testing.T) {
	for name, change := range map[string]func(*backup.BackupRequest){
		"another cluster": func(r *backup.BackupRequest) { r.ClusterId = math.MaxUint64 },
		"raw pairs":       func(r *backup.BackupRequest) { r.IsRawKv = true },
		"changes":         func(r *backup.BackupRequest) { r.StartVersion = 8 },
		"no storage":      func(r *backup.BackupRequest) { r.StorageBackend = &backup.StorageBackend{} },
	} {
		if parts := run(t, serverOf(shelf{}), change); len(parts) != 1 || parts[0].Error.GetMsg() == "" {
			t.Errorf("%s: %v", name, parts)
		}
	}
}

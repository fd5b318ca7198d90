package transfer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// recorder is a store that has newer pairs of some keys, and records what is committed.
type recorder struct {
	Store
	newer     map[string]bool
	refusal   *errorpb.Error
	committed []int
	keys      map[string]bool
}

// KvPrewrite implements Store.
func (r *recorder) KvPrewrite(_ context.Context, request *kvrpcpb.PrewriteRequest) (*kvrpcpb.PrewriteResponse, error) {
	if r.refusal != nil {
		return &kvrpcpb.PrewriteResponse{RegionError: r.refusal}, nil
	}
	for _, m := range request.Mutations {
		if r.newer[string(m.Key)] {
			conflict := &kvrpcpb.WriteConflict{Key: m.Key}
			return &kvrpcpb.PrewriteResponse{Errors: []*kvrpcpb.KeyError{{Conflict: conflict}}}, nil
		}
	}
	return &kvrpcpb.PrewriteResponse{}, nil
}

// KvCommit implements Store.
func (r *recorder) KvCommit(_ context.Context, request *kvrpcpb.CommitRequest) (*kvrpcpb.CommitResponse, error) {
	r.committed = append(r.committed, len(request.Keys))
	for _, key := range request.Keys {
		r.keys[string(key)] = true
	}
	return &kvrpcpb.CommitResponse{}, nil
}

func numbered(count, size int) []pair {
	var pairs []pair
	for i := range count {
		pairs = append(pairs, pair{[]byte(fmt.Sprintf("%06d", i)), make([]byte, size)})
	}
	return pairs
}

func write(r *recorder, pairs []pair) *errorpb.Error {
	r.keys = map[string]bool{}
	return (&Server{Store: r}).write(context.Background(), &kvrpcpb.Context{}, pairs, 1<<60)
}

func TestWriteInTransactions(t *testing.T) {
	for _, test := range []struct {
		pairs []pair
		want  string
	}{{numbered(600, 1), "[256 256 88]"}, {numbered(5, 400<<10), "[3 2]"}, {nil, "[]"}} {
		r := &recorder{}
		if problem := write(r, test.pairs); problem != nil || fmt.Sprint(r.committed) != test.want {
			t.Errorf("got %v, want %s: %v", r.committed, test.want, problem)
		}
	}
}

func TestWriteLeavesNewerPairs(t *testing.T) {
	r := &recorder{newer: map[string]bool{"000000": true, "000002": true}}
	if problem := write(r, numbered(4, 1)); problem != nil || fmt.Sprint(r.keys) != "map[000001:true 000003:true]" {
		t.Errorf("written are %v: %v", r.keys, problem)
	}
	if problem := write(&recorder{newer: map[string]bool{"000000": true}}, numbered(1, 1)); problem != nil {
		t.Errorf("with nothing to write: %v", problem)
	}
}

func TestWritePassesErrorsOfTheRegionOn(t *testing.T) {
	refusal := &errorpb.Error{NotLeader: &errorpb.NotLeader{RegionId: 3}}
	if problem := write(&recorder{refusal: refusal}, numbered(1, 1)); problem != refusal {
		t.Errorf("got %v", problem)
	}
}

func TestLifetime(t *testing.T) {
	backup := time.UnixMilli(1_700_000_000_000)
	version := uint64(backup.UnixMilli()) << 18
	if got := lifetime(version, backup.Add(time.Hour)); got != uint64((time.Hour+time.Minute)/time.Millisecond) {
		t.Errorf("got %d", got)
	}
}

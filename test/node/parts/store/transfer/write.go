package transfer

import (
	"context"
	"time"

	"github.com/pingcap/kvproto/pkg/errorpb"
	"github.com/pingcap/kvproto/pkg/kvrpcpb"
)

// A transaction has one entry of raft, which must not be too large.
const (
	mostPairs = 256
	mostBytes = 1 << 20
)

// write gives a region pairs of the time of a backup. TiKV takes a whole file over; here there are transactions.
func (s *Server) write(ctx context.Context, region *kvrpcpb.Context, pairs []pair, version uint64) *errorpb.Error {
	for len(pairs) > 0 {
		count, bytes := 0, 0
		for count < len(pairs) && count < mostPairs && bytes < mostBytes {
			bytes += len(pairs[count].key) + len(pairs[count].value)
			count++
		}
		if problem := s.commit(ctx, region, pairs[:count], version); problem != nil {
			return problem
		}
		pairs = pairs[count:]
	}
	return nil
}

// commit writes pairs in one transaction. A key with a newer value keeps that value, since in TiKV, too, an older one
// stays behind. Keys that an earlier attempt has written are left out in the same way.
func (s *Server) commit(ctx context.Context, region *kvrpcpb.Context, pairs []pair, version uint64) *errorpb.Error {
	var mutations []*kvrpcpb.Mutation
	for _, p := range pairs {
		mutations = append(mutations, &kvrpcpb.Mutation{Op: kvrpcpb.Op_Put, Key: p.key, Value: p.value})
	}
	for len(mutations) > 0 {
		locked, err := s.Store.KvPrewrite(ctx, &kvrpcpb.PrewriteRequest{
			Context: region, Mutations: mutations, PrimaryLock: mutations[0].Key, StartVersion: version - 1,
			LockTtl: lifetime(version, time.Now()), TxnSize: uint64(len(mutations)),
		})
		if err != nil {
			return &errorpb.Error{Message: err.Error()}
		}
		if locked.RegionError != nil {
			return locked.RegionError
		}
		if len(locked.Errors) == 0 {
			return s.finish(ctx, region, mutations, version)
		}
		newer := locked.Errors[0].GetConflict()
		rest := without(mutations, newer.GetKey())
		if newer == nil || len(rest) == len(mutations) {
			return &errorpb.Error{Message: locked.Errors[0].String()}
		}
		mutations = rest
	}
	return nil
}

func (s *Server) finish(ctx context.Context, region *kvrpcpb.Context, mutations []*kvrpcpb.Mutation, version uint64) *errorpb.Error {
	var keys [][]byte
	for _, m := range mutations {
		keys = append(keys, m.Key)
	}
	done, err := s.Store.KvCommit(ctx, &kvrpcpb.CommitRequest{
		Context: region, StartVersion: version - 1, Keys: keys, CommitVersion: version,
	})
	switch {
	case err != nil:
		return &errorpb.Error{Message: err.Error()}
	case done.Error != nil:
		return &errorpb.Error{Message: done.Error.String()}
	}
	return done.RegionError
}

func without(mutations []*kvrpcpb.Mutation, key []byte) []*kvrpcpb.Mutation {
	var rest []*kvrpcpb.Mutation
	for _, m := range mutations {
		if string(m.Key) != string(key) {
			rest = append(rest, m)
		}
	}
	return rest
}

// lifetime is that of a lock, in milliseconds since the time of the backup, which may be long ago. A lock that looks as
// old as the backup would be taken away by the next reader.
func lifetime(version uint64, now time.Time) uint64 {
	const logicalBits = 18
	return uint64(now.UnixMilli()) - version>>logicalBits + uint64(time.Minute/time.Millisecond)
}

package raftstore

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"math"
	"os"

	"github.com/ngaut/unistore/lockstore"
	"github.com/ngaut/unistore/tikv/mvcc"
	"github.com/pingcap/badger"
	"github.com/pingcap/kvproto/pkg/metapb"
)

// This file and snap_applier.go take the place of the library's files of the same names. Those translate a region into
// TiKV's own format and back; they fail when a key has a lock or a rolled back transaction beside a long value, and
// never end when such a snapshot is applied. Both sides are this store, so here a region is copied record by record as
// it is. All records are in the file of the lock column family; the other two stay empty.

// Kinds of records, in the order in which they are in a snapshot.
const (
	recordData byte = iota
	recordStatus
	recordLock
)

type snapBuilder struct {
	snap    *regionSnapshot
	start   []byte
	end     []byte
	file    *CFFile
	kvCount int
	size    int
}

func newSnapBuilder(cfFiles []*CFFile, snap *regionSnapshot, region *metapb.Region) (*snapBuilder, error) {
	return &snapBuilder{snap: snap, start: RawStartKey(region), end: RawEndKey(region), file: cfFiles[lockCFIdx]}, nil
}

func (b *snapBuilder) build() error {
	// A failed attempt at the same index left its records behind.
	if err := b.file.File.Truncate(0); err != nil {
		return err
	}
	if _, err := b.file.File.Seek(0, os.SEEK_SET); err != nil {
		return err
	}
	out := bufio.NewWriter(b.file.File)
	if err := b.copyData(out); err != nil {
		return err
	}
	if err := b.copyStatuses(out); err != nil {
		return err
	}
	if err := b.copyLocks(out, b.snap.lockSnap.NewIterator()); err != nil {
		return err
	}
	return out.Flush()
}

// copyData copies all versions of all values.
func (b *snapBuilder) copyData(out *bufio.Writer) error {
	options := badger.DefaultIteratorOptions
	options.AllVersions = true
	iterator := b.snap.txn.NewIterator(options)
	defer iterator.Close()
	for iterator.Seek(b.start); iterator.Valid() && bytes.Compare(iterator.Item().Key(), b.end) < 0; iterator.Next() {
		item := iterator.Item()
		value, err := item.Value()
		if err != nil {
			return err
		}
		meta := item.UserMeta()
		if len(meta) == 0 {
			// The mark of a deleted range, which belongs to no transaction.
			meta = mvcc.NewDBUserMeta(item.Version(), item.Version())
		}
		if err := b.write(out, recordData, item.Key(), item.Version(), meta, value); err != nil {
			return err
		}
	}
	return nil
}

// copyStatuses copies the traces of transactions that were rolled back or only locked a key.
func (b *snapBuilder) copyStatuses(out *bufio.Writer) error {
	iterator := b.snap.txn.NewIterator(badger.DefaultIteratorOptions)
	defer iterator.Close()
	end := mvcc.EncodeExtraTxnStatusKey(b.end, 0)
	iterator.Seek(mvcc.EncodeExtraTxnStatusKey(b.start, math.MaxUint64))
	for ; iterator.Valid() && bytes.Compare(iterator.Item().Key(), end) < 0; iterator.Next() {
		item := iterator.Item()
		key := mvcc.DecodeExtraTxnStatusKey(item.Key())
		const metaSize = 16
		// Ordinary data of the next key space begins with the same byte; statuses have no value.
		if len(key) == 0 || len(item.UserMeta()) != metaSize || item.ValueSize() > 0 {
			continue
		}
		if err := b.write(out, recordStatus, key, item.Version(), item.UserMeta(), nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *snapBuilder) copyLocks(out *bufio.Writer, iterator *lockstore.Iterator) error {
	for iterator.Seek(b.start); iterator.Valid() && bytes.Compare(iterator.Key(), b.end) < 0; iterator.Next() {
		if err := b.write(out, recordLock, iterator.Key(), 0, nil, iterator.Value()); err != nil {
			return err
		}
	}
	return nil
}

// write appends a record: its kind and version, and three byte strings after their lengths.
func (b *snapBuilder) write(out *bufio.Writer, kind byte, key []byte, version uint64, meta, value []byte) error {
	head := make([]byte, 0, 1+4*binary.MaxVarintLen64)
	head = append(head, kind)
	for _, number := range []uint64{version, uint64(len(key)), uint64(len(meta)), uint64(len(value))} {
		var encoded [binary.MaxVarintLen64]byte
		head = append(head, encoded[:binary.PutUvarint(encoded[:], number)]...)
	}
	for _, part := range [][]byte{head, key, meta, value} {
		if _, err := out.Write(part); err != nil {
			return err
		}
		b.size += len(part)
	}
	b.kvCount++
	b.file.KVCount++
	return nil
}

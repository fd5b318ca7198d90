package raftstore

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"

	"github.com/ngaut/unistore/tikv/mvcc"
	"github.com/pingcap/badger/y"
	"github.com/pingcap/errors"
)

type applySnapItem struct {
	key           y.Key
	val           []byte
	userMeta      []byte
	applySnapType byte
}

const (
	applySnapTypePut = iota
	applySnapTypeLock
	applySnapTypeRollback
	applySnapTypeOpLock
)

// snapApplier reads what snapBuilder wrote.
type snapApplier struct {
	file *os.File
	in   *bufio.Reader
}

func newSnapApplier(cfs []*CFFile) (*snapApplier, error) {
	if cfs[lockCFIdx].Size == 0 {
		return &snapApplier{}, nil
	}
	file, err := os.Open(cfs[lockCFIdx].Path)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	return &snapApplier{file: file, in: bufio.NewReader(file)}, nil
}

func (a *snapApplier) close() {
	if a.file != nil {
		a.file.Close()
	}
}

// next returns the next record, or nil after the last one.
func (a *snapApplier) next() (*applySnapItem, error) {
	if a.in == nil {
		return nil, nil
	}
	kind, err := a.in.ReadByte()
	if err == io.EOF {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	var numbers [4]uint64
	for i := range numbers {
		if numbers[i], err = binary.ReadUvarint(a.in); err != nil {
			return nil, errors.WithStack(err)
		}
	}
	var parts [3][]byte
	for i := range parts {
		parts[i] = make([]byte, numbers[i+1])
		if _, err := io.ReadFull(a.in, parts[i]); err != nil {
			return nil, errors.WithStack(err)
		}
	}
	return newApplyItem(kind, y.KeyWithTs(parts[0], numbers[0]), parts[1], parts[2])
}

func newApplyItem(kind byte, key y.Key, meta, value []byte) (*applySnapItem, error) {
	item := &applySnapItem{key: key, userMeta: meta, val: value}
	switch {
	case kind == recordData:
		item.applySnapType = applySnapTypePut
	case kind == recordLock:
		item.applySnapType = applySnapTypeLock
	case kind == recordStatus && mvcc.DBUserMeta(meta).CommitTS() == 0:
		// The start of the transaction is part of the key under which a rollback is kept.
		item.key.Version = mvcc.DBUserMeta(meta).StartTS()
		item.applySnapType = applySnapTypeRollback
	case kind == recordStatus:
		item.applySnapType = applySnapTypeOpLock
	default:
		return nil, errors.Errorf("a snapshot has a record of the unknown kind %d", kind)
	}
	return item, nil
}

package transfer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// pair is a key and its value.
type pair struct{ key, value []byte }

// heading begins each file of a backup. TiKV's own files are tables of RocksDB, for which this store has no library.
const heading = "pairs of the store of the test node\n"

var errIncomplete = errors.New("the file of the backup is incomplete")

// writer puts pairs into a file: the time of the backup, then the length and the bytes of each key and value.
type writer struct{ bytes.Buffer }

func newWriter(version uint64) *writer {
	w := &writer{}
	w.WriteString(heading)
	w.number(version)
	return w
}

func (w *writer) number(n uint64) {
	w.Write(binary.AppendUvarint(nil, n))
}

func (w *writer) add(key, value []byte) {
	for _, field := range [][]byte{key, value} {
		w.number(uint64(len(field)))
		w.Write(field)
	}
}

// readPairs returns what a file has, and the time of the backup.
func readPairs(content []byte) (pairs []pair, version uint64, err error) {
	if !bytes.HasPrefix(content, []byte(heading)) {
		return nil, 0, errors.New("the file of the backup was not written by such a store")
	}
	rest := content[len(heading):]
	if version, rest, err = readNumber(rest); err != nil {
		return nil, 0, err
	}
	for len(rest) > 0 {
		var fields [2][]byte
		for i := range fields {
			var length uint64
			if length, rest, err = readNumber(rest); err != nil {
				return nil, 0, err
			}
			if length > uint64(len(rest)) {
				return nil, 0, fmt.Errorf("%w: %d bytes are missing", errIncomplete, length-uint64(len(rest)))
			}
			fields[i], rest = rest[:length], rest[length:]
		}
		pairs = append(pairs, pair{fields[0], fields[1]})
	}
	return pairs, version, nil
}

func readNumber(content []byte) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(content)
	if size <= 0 {
		return 0, nil, errIncomplete
	}
	return n, content[size:], nil
}

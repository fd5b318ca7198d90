// Package checksum computes the sums over keys and values that br and TiDB compare.
package checksum

import "hash/crc64"

var table = crc64.MakeTable(crc64.ECMA)

// Sum is over pairs of keys and values in any order.
type Sum struct{ XOR, Pairs, Bytes uint64 }

// Add counts one more pair.
func (s *Sum) Add(key, value []byte) {
	s.XOR ^= crc64.Update(crc64.Checksum(key, table), table, value)
	s.Pairs++
	s.Bytes += uint64(len(key) + len(value))
}

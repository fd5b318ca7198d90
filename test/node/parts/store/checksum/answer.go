package checksum

import (
	"bytes"
	"fmt"
	"math"

	"github.com/ngaut/unistore/tikv/dbreader"
	"github.com/pingcap/kvproto/pkg/coprocessor"
	"github.com/pingcap/tipb/go-tipb"
)

// Answer sums the ranges of a request to the coprocessor, at the time of the request. Locks in the ranges have to be
// checked before. The library answers each such request with the same constant.
func Answer(reader *dbreader.DBReader, request *coprocessor.Request) *coprocessor.Response {
	asked := &tipb.ChecksumRequest{}
	if err := asked.Unmarshal(request.Data); err != nil {
		return &coprocessor.Response{OtherError: fmt.Sprintf("read the request of a checksum: %v", err)}
	}
	rows := &scan{from: asked.Rule.GetNewPrefix(), to: asked.Rule.GetOldPrefix()}
	for _, part := range request.Ranges {
		if err := reader.Scan(part.Start, part.End, math.MaxInt32, request.StartTs, rows); err != nil {
			return &coprocessor.Response{OtherError: fmt.Sprintf("compute a checksum: %v", err)}
		}
	}
	answer := tipb.ChecksumResponse{Checksum: rows.sum.XOR, TotalKvs: rows.sum.Pairs, TotalBytes: rows.sum.Bytes}
	data, err := answer.Marshal()
	if err != nil {
		return &coprocessor.Response{OtherError: fmt.Sprintf("write the answer of a checksum: %v", err)}
	}
	return &coprocessor.Response{Data: data}
}

// scan sums pairs as they were before a restore, which gave their keys another prefix.
type scan struct {
	from, to []byte
	sum      Sum
}

// Process implements dbreader.ScanProcessor.
func (s *scan) Process(key, value []byte) error {
	if !bytes.HasPrefix(key, s.from) {
		return fmt.Errorf("the key %x does not begin with %x", key, s.from)
	}
	s.sum.Add(append(s.to[:len(s.to):len(s.to)], key[len(s.from):]...), value)
	return nil
}

// SkipValue implements dbreader.ScanProcessor.
func (s *scan) SkipValue() bool { return false }

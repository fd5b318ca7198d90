package transfer

import (
	"bytes"
	"fmt"

	"github.com/pingcap/kvproto/pkg/import_sstpb"
	"github.com/pingcap/tidb/util/codec"
)

// rewrite gives pairs the prefix of the table that they are restored to, and leaves out those of other regions.
// Prefixes and borders are of encoded keys.
func rewrite(pairs []pair, rule import_sstpb.RewriteRule, borders import_sstpb.SSTMeta) ([]pair, error) {
	var kept []pair
	for _, p := range pairs {
		encoded := codec.EncodeBytes(nil, p.key)
		if !bytes.HasPrefix(encoded, rule.OldKeyPrefix) {
			return nil, fmt.Errorf("the key %x does not begin with the prefix that is to be replaced, %x", encoded, rule.OldKeyPrefix)
		}
		encoded = append(append([]byte{}, rule.NewKeyPrefix...), encoded[len(rule.OldKeyPrefix):]...)
		if !inside(encoded, borders) {
			continue
		}
		_, key, err := codec.DecodeBytes(encoded, nil)
		if err != nil {
			return nil, fmt.Errorf("decode the key %x: %w", encoded, err)
		}
		kept = append(kept, pair{key, p.value})
	}
	return kept, nil
}

func inside(key []byte, borders import_sstpb.SSTMeta) bool {
	start, end := borders.GetRange().GetStart(), borders.GetRange().GetEnd()
	if bytes.Compare(key, start) < 0 {
		return false
	}
	to := bytes.Compare(key, end)
	return len(end) == 0 || to < 0 || to == 0 && !borders.EndKeyExclusive
}

package transfer

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pingcap/kvproto/pkg/import_sstpb"
	"github.com/pingcap/tidb/util/codec"
)

func TestPairs(t *testing.T) {
	written := []pair{{[]byte("a"), []byte("1")}, {[]byte("b"), []byte{}}, {[]byte("c"), []byte(strings.Repeat("x", 300))}}
	w := newWriter(4711)
	for _, p := range written {
		w.add(p.key, p.value)
	}
	read, version, err := readPairs(w.Bytes())
	if err != nil || version != 4711 || !reflect.DeepEqual(read, written) {
		t.Errorf("got %v of %d, %v", read, version, err)
	}
	if _, _, err := readPairs(w.Bytes()[:w.Len()-1]); !errors.Is(err, errIncomplete) {
		t.Errorf("an incomplete file: %v", err)
	}
	if _, _, err := readPairs([]byte("something else")); err == nil {
		t.Error("another file is read")
	}
}

// prefix encodes as br encodes a prefix: whole groups of eight bytes with their mark, and the rest as it is.
func prefix(text string) []byte {
	encoded := codec.EncodeBytes(nil, []byte(text[:8]))
	return append(encoded[:9:9], text[8:]...)
}

func TestRewrite(t *testing.T) {
	encoded := func(text string) []byte { return codec.EncodeBytes(nil, []byte(text)) }
	pairs := []pair{{[]byte("table001_r1"), nil}, {[]byte("table001_r2"), []byte("two")}, {[]byte("table001_r3"), nil}}
	rule := import_sstpb.RewriteRule{OldKeyPrefix: prefix("table001_r"), NewKeyPrefix: prefix("table002_r")}
	for _, test := range []struct {
		start, end string
		exclusive  bool
		want       string
	}{
		{"table002_r1", "table002_r3", false, "table002_r1 table002_r2 table002_r3"},
		{"table002_r1", "table002_r3", true, "table002_r1 table002_r2"},
		{"table002_r2", "", false, "table002_r2 table002_r3"},
		{"table003_r", "", false, ""},
	} {
		borders := import_sstpb.SSTMeta{Range: &import_sstpb.Range{Start: encoded(test.start)}, EndKeyExclusive: test.exclusive}
		if test.end != "" {
			borders.Range.End = encoded(test.end)
		}
		kept, err := rewrite(pairs, rule, borders)
		var keys []string
		for _, p := range kept {
			keys = append(keys, string(p.key))
		}
		if got := strings.Join(keys, " "); err != nil || got != test.want {
			t.Errorf("from %s to %s: got %q, %v", test.start, test.end, got, err)
		}
	}
	if _, err := rewrite([]pair{{[]byte("table009_r1"), nil}}, rule, import_sstpb.SSTMeta{}); err == nil {
		t.Error("a key of another table is rewritten")
	}
}

package report

import (
	"bytes"
	"testing"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		text   string
		width  int
		indent string
		want   string
	}{
		{"  one two three", 0, "    ", "  one two three"},
		{"  one two three", 15, "    ", "  one two three"},
		{"  one two three", 10, "    ", "  one two\n    three"},
		{"  one a-word-that-is-longer three", 10, "    ", "  one a-\n    word-\n    that-\n    is-\n    longer\n    three"},
		{"image registry.example.com/pingcap/tikv:v8.5.2 is pulled", 20, "  ", "image registry.\n  example.com/\n  pingcap/tikv:v8.5.\n  2 is pulled"},
		{"kubectl describe pod basic-tikv-2 -n tidb", 24, "  ", "kubectl describe pod\n  basic-tikv-2 -n tidb"},
		{"averylongwordwithnoplace to break", 10, "  ", "averylongwordwithnoplace\n  to break"},
		{"多多 多多", 5, " ", "多多\n 多多"},
		{"one two three four", 9, "> ", "one two\n> three\n> four"},
		{"", 3, "> ", ""},
	} {
		if got := Fold(c.text, c.width, c.indent); got != c.want {
			t.Errorf("%q at %d: %q", c.text, c.width, got)
		}
	}
	if n := Width(&bytes.Buffer{}); n != 0 {
		t.Errorf("what is no terminal has the width %d", n)
	}
}

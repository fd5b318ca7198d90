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
		{"  one a-word-that-is-longer three", 10, "    ", "  one\n    a-word-that-is-longer\n    three"},
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

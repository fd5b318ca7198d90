package report

import (
	"bytes"
	"testing"
)

func TestProse(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"one two three", 0, "one two three"},
		{"one two three", 13, "one two three"},
		{"one two three", 12, "one two\n> three"},
		{"one two three four", 9, "one two\n> three\n> four"},
		{"a-word-that-is-too-long for it", 8, "a-word-that-is-too-long\n> for it"},
		{"   indented text", 80, "   indented text"},
		{"   indented text", 14, "   indented\n> text"},
		{"ü é", 3, "ü é"},
		{"", 3, ""},
	} {
		if got := Prose(c.text, c.width, "> "); got != c.want {
			t.Errorf("%q at %d: got %q, want %q", c.text, c.width, got, c.want)
		}
	}
	if n := Width(&bytes.Buffer{}); n != 0 {
		t.Errorf("what is no terminal has the width %d", n)
	}
}

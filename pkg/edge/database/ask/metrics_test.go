package ask

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLines: of a page the lines of the metrics are kept, and none of a metric whose name only begins or ends so.
func TestLines(t *testing.T) {
	page := "# HELP a What a is.\n# TYPE a gauge\na{type=\"x\"} 1\na_total{type=\"x\"} 2\na 3\naa 4\nb_a 5\na\n" +
		strings.Repeat("other_bucket{le=\"0.1\"} 5\n", 1000) + "b{type=\"y\"} 6"
	for want, m := range map[string]Metrics{
		"":                       nil,
		"a{type=\"x\"} 1\na 3\n": {"a"},
		"b{type=\"y\"} 6\n":      {"b", "c"},
		"a{type=\"x\"} 1\na 3\nb{type=\"y\"} 6\n": {"b", "a"},
	} {
		if got, err := m.Lines(strings.NewReader(page)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", m, got, err)
		}
	}
}

// TestLinesHaveLimits: too long a line, and too many lines that are kept, are errors. So is a page that ends too early.
func TestLinesHaveLimits(t *testing.T) {
	line := "a{type=\"x\"} 1\n"
	for name, c := range map[string]struct {
		page io.Reader
		want error
	}{
		"as many as are kept": {strings.NewReader(strings.Repeat(line, keptBytes/len(line))), nil},
		"one line more":       {strings.NewReader(strings.Repeat(line, keptBytes/len(line)+1)), ErrTooLarge},
		"many others":         {strings.NewReader(strings.Repeat("b 1\n", keptBytes)), nil},
		"a long line":         {strings.NewReader(strings.Repeat("b", longestLine)), bufio.ErrTooLong},
		"half a page":         {io.MultiReader(strings.NewReader(line), iotest.ErrReader(io.ErrUnexpectedEOF)), io.ErrUnexpectedEOF},
	} {
		if _, err := (Metrics{"a"}).Lines(c.page); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParse: values are found by their label "type", whatever other labels there are.
func TestParse(t *testing.T) {
	got, err := Parse([]byte("a{type=\"x\"} 1\na{of=\"z\",type=\"y\"} 1.021e+03\na{type=\"x\",of=\"z\"} 9\nb 2.5\n"))
	if want := (Values{"a": {"x": 1, "y": 1021}, "b": {"": 2.5}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Parse(nil); err != nil || len(got) != 0 {
		t.Errorf("an empty page: %v, %v", got, err)
	}
	if got, err := Parse([]byte("a{type=\"x} 1\n")); err == nil {
		t.Errorf("a broken line: %v", got)
	}
}

// TestCount: what is no number of things is an error, and never zero. What is not there is no error.
func TestCount(t *testing.T) {
	for text, c := range map[string]struct {
		n          int
		has, fails bool
	}{
		"a{type=\"x\"} 0":         {0, true, false},
		"a{type=\"x\"} 7":         {7, true, false},
		"a{type=\"x\"} 1.5":       {0, true, true},
		"a{type=\"x\"} -1":        {0, true, true},
		"a{type=\"x\"} NaN":       {0, true, true},
		"a{type=\"x\"} +Inf":      {0, true, true},
		"a{type=\"x\"} 3e9":       {0, true, true},
		"a{type=\"y\"} 7":         {0, false, false},
		"a 7":                     {0, false, false},
		"b{type=\"x\"} 7":         {0, false, false},
		"a{type=\"x\",b=\"y\"} 7": {7, true, false},
	} {
		v, err := Parse([]byte(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		n, has, err := v.Count("a", "x")
		if n != c.n || has != c.has || (err != nil) != c.fails || c.fails && !strings.Contains(err.Error(), `a{type="x"}`) {
			t.Errorf("%s: %d, %t, %v", text, n, has, err)
		}
	}
}

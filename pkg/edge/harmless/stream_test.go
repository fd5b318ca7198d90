package harmless

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
)

// TestStream: whatever is written, and in whatever pieces, no hidden character and no command to a CI system comes out.
func TestStream(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n": "plain\ttext\n",
		"a\x1b[31mb\x07c\x7fd\u009be\rf\u0085g\n":          "a [31mb c d e f g\n",
		"\u202eevil\u2066\ufeff":                           "\ufffdevil\ufffd\ufffd",
		"\x9b31m\xff":                                      "\ufffd31m\ufffd",
		"::error::x\n  ::set-output name=a::b\nc ::d e::f": ": :error::x\n  : :set-output name=a::b\nc ::d e::f",
		":::debug::":                                       ": : :debug::",
		"\r::warning::x":                                   " : :warning::x",
		"see ##[error]w ##vso[task.x] ##teamcity[y] # [z]": "see ## [error]w ##vso [task.x] ##teamcity [y] # [z]",
		"10.0.0.1:2379 [::1]:2379 日本 ü ✓ …":                "10.0.0.1:2379 [::1]:2379 日本 ü ✓ …",
	} {
		for _, size := range []int{1, 2, 3, len(in)} {
			var out bytes.Buffer
			s := NewStream(&out)
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if m, err := io.WriteString(s, rest[:n]); m != n || err != nil {
					t.Fatalf("%d of %d, %v", m, n, err)
				}
				rest = rest[n:]
			}
			if out.String() != want {
				t.Errorf("%q in pieces of %d: %q, want %q", in, size, out.String(), want)
			}
		}
	}
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// TestFailed: a write that fails is remembered, also where the writer is asked for raw bytes. A reader that has gone
// is no failure.
func TestFailed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{syscall.ENOSPC, true},
		{errors.New("other"), true},
		{fmt.Errorf("write: %w", syscall.EPIPE), false},
		{syscall.EBADF, false},
	} {
		for _, raw := range []bool{false, true} {
			s := NewStream(broken{c.err})
			to := io.Writer(s)
			if raw {
				to = Raw(s)
			}
			_, err := io.WriteString(to, "x")
			if !errors.Is(err, c.err) || (s.Failed() != nil) != c.want {
				t.Errorf("%v, raw %t: returned %v, failed %v", c.err, raw, err, s.Failed())
			}
		}
	}
}

// TestRaw: what is written raw stays as it is, and Under finds the output.
func TestRaw(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out)
	fmt.Fprint(Raw(s), "\x1b[1mbold\x1b[0m::x")
	if out.String() != "\x1b[1mbold\x1b[0m::x" || Under(s) != io.Writer(&out) || Under(Raw(s)) != io.Writer(&out) || Under(&out) != io.Writer(&out) || Raw(&out) != io.Writer(&out) {
		t.Errorf("%q", out.String())
	}
	if strings.Contains(fmt.Sprint(s.Failed()), "x") {
		t.Error(s.Failed())
	}
}

package spin

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

// terminal returns the two ends of a terminal: what is written to the inner one is read from the
// outer one.
func terminal(t *testing.T) (outer, inner *os.File) {
	t.Helper()
	outer, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(outer.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if inner, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outer.Close() })
	return outer, inner
}

// until reads until what was read has a text.
func until(t *testing.T, from io.Reader, text string) string {
	t.Helper()
	var seen strings.Builder
	for b := make([]byte, 256); !strings.Contains(seen.String(), text); {
		n, err := from.Read(b)
		if seen.Write(b[:n]); err != nil {
			t.Fatalf("%q is not in %q: %v", text, seen.String(), err)
		}
	}
	return seen.String()
}

// TestTerminal: a terminal shows the present text, and nothing of it after the wait.
func TestTerminal(t *testing.T) {
	outer, inner := terminal(t)
	defer inner.Close()
	env := map[string]string{"LANG": "en_US.UTF-8", "TERM": "xterm"}
	f := factory.New(genericiooptions.IOStreams{Out: io.Discard, ErrOut: inner}, func(name string) string { return env[name] }, "")
	s := On(f, "deleting cluster db/basic")
	until(t, outer, " deleting cluster db/basic")
	s.Say("cluster db/basic: 1 pod is left")
	until(t, outer, " cluster db/basic: 1 pod is left")
	s.Stop()
	fmt.Fprintln(inner, "done")
	if rest := until(t, outer, "done"); !strings.Contains(rest, "\r\x1b[Kdone") {
		t.Errorf("after the wait: %q", rest)
	}
	time.AfterFunc(10*frame, func() { fmt.Fprintln(inner, "end") })
	if rest := until(t, outer, "end"); strings.Contains(rest, "pod") {
		t.Errorf("it was shown again: %q", rest)
	}
}

package e2e

import (
	"strings"
	"testing"
)

// canary: a restart with a canary restarts one store of the whole database. Meanwhile both parts are paused and resumed by
// one command, and a promotion restarts the other stores. A canary without members restarts none, and is taken back.
func (w twoClusters) canary(t *testing.T) {
	before := w.podUIDs(t)
	w.ends(t, 6, "kubectl tidb promote "+cluster+" --contexts", "restart", cluster, "tikv", "--canary", "tikv=1", "--yes")
	if after := w.podUIDs(t); differ(before, after) != 1 {
		t.Errorf("%d pods were replaced, want one store", differ(before, after))
	}
	w.ends(t, 0, "", "pause", cluster, "--reason", "switches")
	for part, s := range w.parts() {
		if r := s.tidb(t, 0, "status", cluster); !strings.Contains(r.Stdout, "switches") {
			t.Errorf("%s: %s", part, r.Stdout)
		}
	}
	w.ends(t, 0, "", "resume", cluster)
	w.ends(t, 0, "", "promote", cluster, "--yes")
	after := w.podUIDs(t)
	if n := differ(before, after); n != 5 {
		t.Errorf("%d pods were replaced, want each of five stores", n)
	}
	w.ends(t, 6, "promote "+cluster, "restart", cluster, "tidb", "--canary", "tidb=0", "--yes")
	w.ends(t, 0, "", "abort", cluster, "--yes")
	w.ends(t, 0, "nothing is under way", "abort", cluster, "--yes")
	if n := differ(after, w.podUIDs(t)); n != 0 {
		t.Errorf("%d pods were replaced, want none", n)
	}
}

// ends runs a command for both parts, and asserts how it ends and what it says.
func (w twoClusters) ends(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	r := w.both.Run(t.Context(), nil, append(args, "--contexts", w.contexts)...)
	t.Logf("kubectl tidb %v: exit %d after %v", args, r.Code, r.Took)
	if r.Code != code || !strings.Contains(r.Stderr+r.Stdout, says) {
		t.Errorf("kubectl tidb %v: exit code %d, want %d and %q\n%s%s", args, r.Code, code, says, r.Stdout, r.Stderr)
	}
}

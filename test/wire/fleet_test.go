package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// TestFleet: all clusters are upgraded, each line names its cluster, and the report has it. The same command has
// nothing to do afterwards, and says so.
func TestFleet(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		refused := w.said(w.Must(t, 3, "upgrade", "--all", "v8.1.1")) // the answer is empty
		wantText(t, refused.Err, "you have not agreed, so nothing was changed")
		report := filepath.Join(t.TempDir(), "run.md")
		r := w.said(w.Must(t, 0, "upgrade", "--all", "v8.1.1", "--yes", "--report", "markdown="+report))
		for line := range strings.Lines(r.Err) {
			if !strings.Contains(line, "db/basic: ") && !strings.HasPrefix(line, "upgrade to v8.1.1: ") {
				t.Errorf("a line without its cluster: %q", line)
			}
		}
		wantText(t, r.Err, "upgrade to v8.1.1: done with 1 cluster, of which 0 had nothing to do")
		if text, err := os.ReadFile(report); err != nil || !strings.Contains(string(text), "basic, upgrade to v8.1.1") {
			t.Errorf("%v: %s", err, text)
		}
		before := len(w.requests)
		r = w.said(w.Must(t, 0, "upgrade", "--all", "v8.1.1", "--contexts", "*"))
		wantText(t, r.Err, "db/basic: nothing to do: the cluster has converged")
		wantNone(t, w.requests[before:], "DELETE", pods)
		r = w.said(w.Must(t, 0, "upgrade", "--all", "v8.1.1", "--contexts", "*", "-o", "json"))
		types := ""
		for line := range strings.Lines(r.Out) {
			var e struct{ Type, Context, Cluster string }
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Context == "" || e.Cluster != "basic" {
				t.Errorf("%v: %q", err, line)
			}
			types += e.Type + " "
		}
		if types != "notice done " || r.Err != "" {
			t.Errorf("events: %s, stderr %q", types, r.Err)
		}
	})
}

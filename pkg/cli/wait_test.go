package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestWait: a wait ends with the exit code of a run, says on stdout what kubectl's says, and changes
// nothing.
func TestWait(t *testing.T) {
	ready := tidbcluster("basic")
	ready["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready"}}}
	paused := pausedCluster("kubectl-tidb-pause", "bob@desk", time.Now().Add(time.Hour))
	for _, c := range []struct {
		args    string
		cluster map[string]any
		code    exit.Code
		out     string
		says    string
	}{
		{"--for=condition=Ready", ready, exit.OK, "tidbcluster.pingcap.com/basic condition met\n", "reached in"},
		{"--for=converged", paused, exit.Paused, "", "paused by bob@desk"},
	} {
		s := kept(t, "", map[string]any{tidbclusters + "/basic": c.cluster})
		r := s.call(t, append([]string{"wait", "basic"}, strings.Fields(c.args)...)...)
		if r.code != int(c.code) || r.out != c.out || !strings.Contains(r.err, c.says) {
			t.Errorf("%s: %+v; want %d, %q", c.args, r, c.code, c.says)
		}
		for _, asked := range s.asked() {
			if !strings.HasPrefix(asked, "GET ") {
				t.Errorf("%s: %s", c.args, asked)
			}
		}
	}
	s := kept(t, "", map[string]any{tidbclusters + "/basic": ready})
	r := s.call(t, "wait", "basic", "--for=condition=Ready", "-o", "json")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	var last struct{ Type, Outcome string }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Type != "done" || last.Outcome != "reached" || r.err != "" {
		t.Errorf("%v: %+v", err, r)
	}
}

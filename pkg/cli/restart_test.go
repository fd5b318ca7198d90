package cli

import (
	"strings"
	"testing"
)

// TestNoRestartToCancel: where no member waits for a restart, what --cancel asks is so already: it ends with 0, says
// that, and changes nothing.
func TestNoRestartToCancel(t *testing.T) {
	tc := tidbcluster("basic")
	s := kept(t, "", map[string]any{tidbclusters + "/basic": tc, "GET " + tidbclusters: clusterList(tc)})
	r := s.call(t, "restart", "basic", "--cancel")
	const want = "no member waits for a restart by its name, so nothing was changed"
	if said := r.out + r.err; r.code != 0 || !strings.Contains(said, want) {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 0, %q", r.code, r.out, r.err, want)
	}
	for _, asked := range s.requests() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("changed something: %s", asked)
		}
	}
}

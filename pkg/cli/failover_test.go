package cli

import (
	"strings"
	"testing"
)

// TestNothingToRecover: recovery from failovers that are not there says so, and drives nothing.
func TestNothingToRecover(t *testing.T) {
	lost := tidbcluster("basic")
	lost["spec"].(map[string]any)["paused"] = true // otherwise this test would drive it
	lost["status"] = map[string]any{"tikv": map[string]any{
		"failureStores": map[string]any{"4": map[string]any{"podName": "basic-tikv-2", "storeID": "4"}},
	}}
	const none = "is recorded, so there is nothing to recover and nothing was changed"
	for _, c := range []struct {
		name, args string
		cluster    map[string]any
		code       int
		says       string
	}{
		{"no failover", "failover basic recover", tidbcluster("basic"), 0, "no failover of cluster default/basic " + none},
		{"a dry run", "failover basic recover --dry-run", tidbcluster("basic"), 0, none},
		{"as events", "failover basic recover -o json", tidbcluster("basic"), 0, `"reason":"NothingToDo"`},
		{"of another component", "failover basic recover --component pd,tidb", lost, 0, "no failover of PD and TiDB of cluster default/basic " + none},
		{"a failover", "failover basic recover", lost, 6, "is paused"},
		{"of that component", "failover basic recover --component tikv", lost, 6, "is paused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := kept(t, "", map[string]any{tidbclusters + "/basic": c.cluster, "GET " + tidbclusters: clusterList(c.cluster)})
			r := s.call(t, strings.Fields(c.args)...)
			if said := r.out + r.err; r.code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", r.code, r.out, r.err, c.code, c.says)
			}
			for _, asked := range s.requests() {
				if !strings.HasPrefix(asked, "GET ") {
					t.Errorf("changed something: %s", asked)
				}
			}
		})
	}
}

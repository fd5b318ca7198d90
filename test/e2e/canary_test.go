package e2e

import (
	"slices"
	"strings"
	"testing"
)

// testCanary: a restart of TiKV stops after one store, and goes on when it is promoted; then single members are
// restarted by their names. Each pod that is meant is replaced, and no other one.
func testCanary(t *testing.T) {
	wantReplaced(t, []string{"tikv-2"}, func() {
		r := shared.tidb(t, 6, "restart", cluster, "tikv", "--canary", "tikv=1")
		if !strings.Contains(r.Stderr, "kubectl tidb promote "+cluster) {
			t.Errorf("the command to go on is not named: %s", r.Stderr)
		}
		shared.tidb(t, 6, "sync", cluster)
	})
	wantReplaced(t, []string{"tikv-0", "tikv-1"}, func() { shared.tidb(t, 0, "promote", cluster) })
	wantReplaced(t, []string{"tidb-0", "tikv-1"}, func() { shared.tidb(t, 0, "restart", cluster, "tikv-1", "tidb-0") })
	wantReplaced(t, nil, func() { shared.tidb(t, 0, "sync", cluster) })
	shared.wantConverged(t, 3, 3, 2, from)
}

// wantReplaced asserts which pods are other ones after something was done.
func wantReplaced(t *testing.T, want []string, do func()) {
	t.Helper()
	before := shared.podUIDs(t)
	do()
	var got []string
	for name, uid := range shared.podUIDs(t) {
		if before[name] != uid {
			got = append(got, strings.TrimPrefix(name, cluster+"-"))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("replaced: %v, want %v", got, want)
	}
}

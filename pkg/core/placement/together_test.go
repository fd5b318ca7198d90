package placement_test

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestTogether: each store is zone/host; the first two are those that may be lost together.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name, stores, labels string
		copies, want         int
	}{
		{"no labels", "a/1 a/1 b/2 c/3", "", 3, 2},
		{"one host", "a/1 a/1 b/2 c/3", "zone host", 3, 1},
		{"the case of a label", "a/1 a/1 b/2 c/3", "Zone", 3, 1},
		{"two hosts of one zone", "a/1 a/2 b/3 c/4", "zone", 3, 1},
		{"two hosts of one zone, by hosts", "a/1 a/2 b/3 c/4", "zone host", 3, 2},
		{"one zone", "a/1 a/1 a/2 a/3", "zone", 3, 2},
		{"too few zones", "a/1 a/1 b/2 b/3", "zone", 3, 2},
		{"a label is missing", "a/1 a/1 b/2 c/3 /4", "zone host", 3, 2},
		{"another label", "a/1 a/1 b/2 c/3", "rack", 3, 2},
		{"one copy", "a/1 a/1 b/2 c/3", "", 1, 1},
	} {
		var all []state.Store
		for _, at := range strings.Fields(c.stores) {
			zone, host, _ := strings.Cut(at, "/")
			all = append(all, state.Store{Labels: map[string]string{"zone": zone, "host": host}})
		}
		if got := placement.Together(all[:2], all, state.PD{LocationLabels: strings.Fields(c.labels), MaxReplicas: c.copies}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

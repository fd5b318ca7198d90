package drive

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// TestLackingCopies: regions that lack a copy, or have one on a store that is silent, are named with their numbers. Copies
// that are only behind, or that PD moves, are not.
func TestLackingCopies(t *testing.T) {
	for _, c := range []struct {
		unsound    map[string]int
		text, kind string
	}{
		{nil, "", ""},
		{map[string]int{"pending-peer": 9, "offline-peer": 4, "miss-peer": 0}, "", ""},
		{map[string]int{"miss-peer": 3}, "3 regions have fewer copies than wanted, by PD's last count of 900; PD makes copies by itself", "miss-peer"},
		{map[string]int{"down-peer": 1}, "1 region has a copy whose store has been silent for long, by PD's last count of 900; PD makes copies by itself", "down-peer"},
		{map[string]int{"miss-peer": 1, "down-peer": 2}, "1 region has fewer copies than wanted, and 2 regions have a copy whose store has been silent for long, by PD's last count of 900; PD makes copies by itself", "miss-peer"},
	} {
		if text, kind := lackingCopies(&pd.Isolation{Regions: 900, Unsound: c.unsound}); text != c.text || kind != c.kind {
			t.Errorf("%v: %q, %q, want %q, %q", c.unsound, text, kind, c.text, c.kind)
		}
	}
}

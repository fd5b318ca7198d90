package drive

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestCramped: before stores run another version, those with too little space are named, and nothing
// is said about a cluster whose stores run the wanted one.
func TestCramped(t *testing.T) {
	for name, tt := range map[string]struct {
		runs, wanted string
		free         topology.Size
		says         string
	}{
		"nearly full":     {"v8.1.0", "v8.1.1", 15, "TiKV: t-tikv-1: 15.0% of the disk of store 2 is free, 15.0Gi of 100.0Gi: PD moves no regions to it"},
		"full":            {"v8.1.0", "v8.1.1", 4, "TiKV: t-tikv-1: 4.0% of the disk of store 2 is free, 4.0Gi of 100.0Gi: TiKV refuses writes"},
		"enough":          {"v8.1.0", "v8.1.1", 20, ""},
		"no upgrade":      {"v8.1.1", "v8.1.1", 4, ""},
		"unknown version": {"", "v8.1.1", 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := plantest.New(3, 3, 2)
			c.Want(topology.TiKV).Version = tt.wanted
			m := c.Member("t-tikv-1")
			m.Pod.Version, m.Database.Capacity, m.Database.Available = tt.runs, 100<<30, tt.free<<30
			got := cramped(c.Wanted, c.Seen)
			if tt.says == "" {
				if len(got) > 0 {
					t.Errorf("%q", got)
				}
				return
			}
			if len(got) != 1 || !strings.HasPrefix(got[0].text, tt.says) || !strings.Contains(got[0].line(""), "; add members: kubectl tidb scale t tikv=4") {
				t.Errorf("%q", got)
			}
		})
	}
}

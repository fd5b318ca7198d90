package observe

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan/plantest"
)

// TestDDLPaused: the first server that serves is asked, and what cannot be asked is no pause.
func TestDDLPaused(t *testing.T) {
	const paused = `{"upgraded_percent":50}`
	one, none := plantest.New(3, 3, 2).Down(0, "t-tidb-0"), plantest.New(3, 3, 2).Down(0, "t-tidb-0", "t-tidb-1")
	for name, c := range map[string]struct {
		cluster *plantest.Cluster
		port    port
		want    string
	}{
		"paused":               {one, says(200, paused), "t-tidb-1"},
		"not paused":           {one, says(200, `"The cluster state is normal."`), ""},
		"too old to know":      {one, says(404, ""), ""},
		"it does not answer":   {one, fails(tunnel), ""},
		"none of them serves":  {none, unasked(t), ""},
		"there are no servers": {plantest.New(3, 3, 0), unasked(t), ""},
	} {
		if got := through(c.port).DDLPaused(t.Context(), c.cluster.Wanted.Cluster, c.cluster.Seen); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

package drive

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestScaling: a scale is under way as long as the StatefulSet has another number of replicas, or a
// member that was added does not serve. A member that does not serve for another reason is none.
func TestScaling(t *testing.T) {
	const tikv = topology.TiKV
	for name, tt := range map[string]struct {
		before map[topology.Kind]int
		change func(*plantest.Cluster)
		want   string
	}{
		"done":                   {map[topology.Kind]int{tikv: 3}, func(*plantest.Cluster) {}, ""},
		"out, not begun":         {map[topology.Kind]int{tikv: 4}, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, "TiKV: 4 to 5 members"},
		"out, no room for it":    {map[topology.Kind]int{tikv: 3}, func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-3") }, "TiKV: 3 to 4 members"},
		"out, another one fails": {map[topology.Kind]int{tikv: 3}, func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-2") }, ""},
		"in, it still leaves":    {map[topology.Kind]int{tikv: 4}, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 }, "TiKV: 4 to 3 members"},
		"in, done":               {map[topology.Kind]int{tikv: 5}, func(*plantest.Cluster) {}, ""},
		"not of the last change": {nil, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, ""},
	} {
		c := plantest.New(3, 4, 2)
		tt.change(c)
		if got := strings.Join(scaling(tt.before, c.Wanted, c.Seen), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

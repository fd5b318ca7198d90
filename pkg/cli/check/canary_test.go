package check

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestCanaryDuringBatches: a canary is refused while the members of the component restart in batches, because a lost pod
// would come back with the new template.
func TestCanaryDuringBatches(t *testing.T) {
	for _, c := range []struct {
		name      string
		inBatches topology.Kind
		before    string
		refused   bool
	}{
		{"no batches", "", "", false},
		{"batches of another component", topology.TiDB, "", false},
		{"batches", topology.TiKV, "", true},
		{"a canary from before", topology.TiKV, "tikv=1", false},
	} {
		cluster := plantest.New(3, 4, 2).Roll(topology.TiKV)
		cluster.Want(topology.TiKV).Set.Drift = desired.Differs
		if c.inBatches != "" {
			cluster.Set(c.inBatches, func(s *state.Set) { s.InBatches = true })
		}
		p := proposal{existing: new(cluster.Wanted.Cluster), wanted: cluster.Wanted.Cluster}
		p.existing.Canary, p.wanted.Canary = c.before, "tikv=1"
		err := p.allow(cluster.Wanted, cluster.Seen)
		if refused := exit.Of(err) == exit.Refused; refused != c.refused ||
			refused && !strings.Contains(err.Error(), "finish the batches before: kubectl tidb sync t -n ns") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

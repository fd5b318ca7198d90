package drive

import (
	"context"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Underway is what is left to be done for what the spec asks for.
type Underway struct {
	// Left has a line for each component; none for a spec that was carried out, also where a member
	// is being repaired.
	Left []string
	// Scales: the last change by a command has changed how many members components have, and that is
	// not carried out yet.
	Scales bool
}

// Underway returns what is left to be done.
func (s *Session) Underway(ctx context.Context, tc *v1alpha1.TidbCluster) (Underway, error) {
	p, err := s.check(ctx, propose(Request{Change: intent.Change{Now: tc, Want: tc}}).at(s.Now()))
	if err != nil || p.plan.Outcome == plan.Converged {
		return Underway{}, err
	}
	u := Underway{Left: preview.Preview{Now: p.request.now, Wanted: p.wanted, Seen: p.snapshot}.Changes()}
	scales := scaling(topology.ReplicasBefore(tc), p.wanted, p.snapshot)
	if u.Scales = len(scales) > 0; len(u.Left) == 0 {
		u.Left = scales
	}
	return u, nil
}

// scaling returns the components that have not the number of members yet to which the last change has
// taken them from another one, a line each. A StatefulSet has its new number of replicas before new
// members serve, which a member without room never does.
func scaling(before map[topology.Kind]int, w desired.State, snap state.Snapshot) []string {
	var all []string
	for _, g := range w.Groups {
		was, changed := before[g.Kind]
		got := snap.Groups[g.Kind]
		waits := func(m state.Member) bool { return m.Ordinal >= was && !m.Up() }
		if changed && (got.Set.Replicas != g.Size() || slices.ContainsFunc(got.Running(), waits)) {
			all = append(all, fmt.Sprintf("%s: %d to %s", g.Kind.Title(), was, preview.Members(g.Size())))
		}
	}
	return all
}

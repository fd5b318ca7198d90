package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
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

// Underway returns what is left to be done. A spec that would be refused now is under way as well: it
// is what a person may want to take back.
func (s *Session) Underway(ctx context.Context, tc *v1alpha1.TidbCluster) (Underway, error) {
	seen, err := s.Observer.Against(ctx, topology.New(tc))
	if err != nil {
		return Underway{}, err
	}
	u, _, err := underway(seen)
	return u, err
}

// underway returns what is left to be done, and what is wanted.
func underway(seen state.Observation) (Underway, desired.State, error) {
	now, before := seen.Cluster, topology.ReplicasBefore(seen.Cluster.Written)
	w, err := render.Want(seen)
	if refused, ok := errors.AsType[*render.RefusedError](err); ok {
		return Underway{Left: []string{"a spec that cannot be carried out: " + refused.Error()}, Scales: len(before) > 0}, w, nil
	}
	if err != nil || plan.Decide(component.Profiles(), plan.Policy{}, w, seen.Snapshot).Outcome == plan.Converged {
		return Underway{}, w, err
	}
	u := Underway{Left: preview.Preview{Now: &now, Wanted: w, Seen: seen.Snapshot}.Changes()}
	scales := scaling(before, w, seen.Snapshot)
	if u.Scales = len(scales) > 0; len(u.Left) == 0 {
		u.Left = scales
	}
	return u, w, nil
}

// scaling returns the components that the last change has scaled and that have not the new number of members yet.
// Each component is a line. A StatefulSet has its new number of replicas before new members serve, which a member
// without room never does.
func scaling(before map[topology.Kind]int, w desired.State, snap state.Snapshot) []string {
	var all []string
	for _, g := range w.Groups {
		was, changed := before[g.Kind]
		got := snap.Groups[g.Kind]
		waits := func(m state.Member) bool { return m.Ordinal >= was && !m.Up() }
		if changed && (got.Set.Replicas != g.Size() || slices.ContainsFunc(got.BelowReplicas(), waits)) {
			all = append(all, fmt.Sprintf("%s: %d to %s", g.Kind.Title(), was, preview.Members(g.Size())))
		}
	}
	return all
}

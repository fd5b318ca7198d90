package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
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

// ReadUnderway returns what is left to be done in a cluster. A spec that would be refused now counts as under way
// as well, because a person may want to take the spec back.
func ReadUnderway(ctx context.Context, s *target.Session, tc *v1alpha1.TidbCluster) (Underway, error) {
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
		waits := func(m state.Member) bool { return !g.Ordinals().Resized(was).Has(m.Ordinal) && !m.Up() }
		if changed && (!got.Set.Ordinals().Same(g.Ordinals()) || slices.ContainsFunc(got.InSet(), waits)) {
			all = append(all, fmt.Sprintf("%s: %d to %s", g.Kind.Title(), was, preview.Members(g.Size())))
		}
	}
	return all
}

// merges says that an earlier change is not carried out yet, and what this change then means. Both changes are
// carried out together. A change that takes the earlier change back means just that.
func (p proposal) merges(seen state.Observation, next desired.State) []Warning {
	if p.existing == nil || p.Unrecorded || p.Write == nil || !p.changes() {
		return nil
	}
	seen.Cluster = *p.existing
	under, w, err := underway(seen)
	if err != nil || len(under.Left) == 0 {
		return nil // nothing is known to be under way
	}
	text := fmt.Sprintf("an earlier change is not carried out yet: %s (%s); both changes are carried out together",
		strings.Join(under.Left, "; "), p.lastChange())
	if again := restartAgain(w, next, seen.Snapshot); len(again) > 0 {
		text += "; these members have restarted for it, and restart once more: " + strings.Join(again, ", ")
	}
	return []Warning{{Text: text, Reason: event.ChangeUnderway}}
}

// changes reports whether the request changes what is asked for.
func (p proposal) changes() bool {
	asks := func(annotation string) bool { return p.Now.Annotations[annotation] != p.Want.Annotations[annotation] }
	return Differences(p.Now, p.Want) != "" || asks(topology.AnnotationRestart) || asks(topology.AnnotationReplace)
}

// lastChange says by whom the spec was changed last, and when, as far as it is recorded.
func (p proposal) lastChange() string {
	if last, recorded := topology.LastChangeOf(p.Now); recorded && last.IsLast(p.Now) {
		return "asked for by " + last.String()
	}
	if all := topology.SpecWriters(p.Now, time.Time{}); len(all) > 0 {
		return fmt.Sprintf("the spec was written by %s at %s", all[0].Manager, all[0].Time.UTC().Format(time.RFC3339))
	}
	return "it is not recorded by whom"
}

// restartAgain returns the members that have restarted in the present rollout, and restart again for the next
// change.
func restartAgain(now, next desired.State, snap state.Snapshot) []string {
	var all []string
	for _, g := range next.Groups {
		got := snap.Groups[g.Kind]
		before, _ := now.Group(g.Kind)
		rolling := slices.ContainsFunc(got.InSet(), got.Outdated)
		for _, m := range preview.Restarting(g, got) {
			if rolling && before.Current(got, m) {
				all = append(all, m.Name)
			}
		}
	}
	return all
}

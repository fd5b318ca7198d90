package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// WithNewVolumes adds the replacement of all members of a component to a request with another storage class or a smaller
// size. No claim can become like that. The spec is written first. A run that ends before the second write is refused,
// and the refusal names the command that goes on.
func WithNewVolumes(ctx context.Context, f *factory.Factory, s *target.Session, r Request) (Request, error) {
	kinds := withNewVolumes(r)
	if len(kinds) == 0 || r.Write == nil {
		return r, nil
	}
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return r, err
	}
	all, err := topology.MemberReplacements(r.Now)
	if err != nil {
		return r, err
	}
	if all == nil {
		all = map[string]topology.MemberReplacement{}
	}
	for _, g := range topology.New(r.Want).Groups {
		for _, m := range seen.Snapshot.Groups[g.Kind].Members {
			if request := replacementOf(m); slices.Contains(kinds, g.Kind) && g.InSpec(m.Ordinal) && len(request.Claims) > 0 {
				request.At, request.Spare = f.Clock.Now(), all[m.Name].Spare
				all[m.Name] = request
			}
		}
	}
	write, ask := r.Write, s.Intent.Replace(r.Now, all).Write
	r.Want = r.Want.DeepCopy()
	topology.AskMemberReplacements(r.Want, all)
	r.Write = func(ctx context.Context, w intent.Write) error {
		if err := write(ctx, w); err != nil {
			return err
		}
		return ask(ctx, w)
	}
	return r, nil
}

func replacementOf(m state.Member) (r topology.MemberReplacement) {
	for _, c := range m.Claims {
		r.Claims = append(r.Claims, c.UID)
	}
	return r
}

// withNewVolumes returns the components with data of which a request changes the storage class of a volume, or makes
// the size smaller.
func withNewVolumes(r Request) (all []topology.Kind) {
	if r.Now == nil || r.Want == nil || r.Want == r.Now {
		return nil
	}
	before := topology.New(r.Now)
	for _, g := range topology.New(r.Want).Groups {
		old, _ := before.Group(g.Kind)
		changes := slices.ContainsFunc(g.Volumes, func(v topology.Volume) bool {
			have, there := old.Volume(v.Name)
			return there && (v.Class != "" && v.Class != have.Class || v.Size < have.Size)
		})
		if changes && g.Kind.Data() != topology.None {
			all = append(all, g.Kind)
		}
	}
	return all
}

// nearlyFull is the share of a store's volume above which PD moves no more regions to the store, by its
// low-space-ratio.
const nearlyFull = 0.8

// overfilled returns why the new volumes of stores are too small for what the stores have now.
func overfilled(w desired.State, snap state.Snapshot) (all []error) {
	for _, g := range w.Groups {
		v, ok := g.Volume(g.Kind.DataVolume())
		for _, m := range snap.Groups[g.Kind].InSet() {
			smaller := slices.ContainsFunc(m.Claims, func(c state.Claim) bool {
				return c.Template == v.Name && v.Size < c.Requested && g.ReplacesClaim(c.UID)
			})
			if ok && smaller && float64(m.Database.Used) > nearlyFull*float64(v.Size) {
				all = append(all, fmt.Errorf("%s: %s has %s of data, and PD moves no regions to a store of %s that is more than %.0f%% full",
					v.Field, m.Name, m.Database.Used, v.Size, 100*nearlyFull))
			}
		}
	}
	return all
}

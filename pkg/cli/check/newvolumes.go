package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// WithNewVolumes adds the replacement of all members of a component to a request with another storage class, a smaller
// size or other volumes. No claim can become like that. The spec is written first. A run that ends before the second
// write is refused, and the refusal names the command that goes on.
func WithNewVolumes(ctx context.Context, f *factory.Factory, s *target.Session, r Request) (Request, error) {
	if kinds := withNewVolumes(r); len(kinds) == 0 || r.Write == nil {
		return r, nil
	}
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return r, err
	}
	all, err := newVolumes(r, seen.Snapshot.Groups, f.Clock.Now())
	if err != nil || len(all) == 0 {
		return r, err
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

// newVolumes returns the replacements that a request needs, besides those that the user has asked for before. It returns
// none where no claim has to go.
func newVolumes(r Request, groups map[topology.Kind]state.Group, at time.Time) (map[string]topology.MemberReplacement, error) {
	before, err := topology.MemberReplacements(r.Now)
	if err != nil {
		return nil, err
	}
	added := map[string]topology.MemberReplacement{}
	for _, g := range topology.New(r.Want).Groups {
		for _, m := range groups[g.Kind].Members {
			if !slices.Contains(withNewVolumes(r), g.Kind) || !g.InSpec(m.Ordinal) || !(desired.Group{Group: g}).Unfit(groups[g.Kind], m) {
				continue
			}
			added[m.Name] = topology.MemberReplacement{
				Claims: m.ClaimUIDs(), At: at, Spare: before[m.Name].Spare, WaitBalanced: before[m.Name].WaitBalanced,
			}
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	for name, request := range before {
		if _, again := added[name]; !again {
			added[name] = request
		}
	}
	return added, nil
}

// withNewVolumes returns the components of which a request changes the storage class of a volume, or makes the size
// smaller. It also returns components with data of which volumes are removed or mounted at another path. There are none
// for a cluster that is paused, because nobody is asked for consent then.
func withNewVolumes(r Request) (all []topology.Kind) {
	if r.Now == nil || r.Want == nil || r.Want == r.Now {
		return nil
	}
	before, want := topology.New(r.Now), topology.New(r.Want)
	if want.Paused {
		return nil
	}
	for _, g := range want.Groups {
		old, _ := before.Group(g.Kind)
		changes := slices.ContainsFunc(g.Volumes, func(v topology.Volume) bool {
			have, there := old.Volume(v.Name)
			return there && v.Excludes(have.Class, have.Size)
		})
		if changes || g.Kind.Data() != topology.None && g.OtherVolumes(old) {
			all = append(all, g.Kind)
		}
	}
	return all
}

// nearlyFull is the share of a store's volume above which PD moves no more regions to the store, by its
// low-space-ratio.
const nearlyFull = 0.8

// overfilled returns why the new volumes of stores are too small for what the stores have now. A store must fit into
// its own new volume, and all data into all stores but the one that leaves.
func overfilled(w desired.State, snap state.Snapshot, names []string) (all []error) {
	for _, g := range w.Groups {
		first, ok := g.Volume(g.Kind.DataVolume())
		if got := snap.Groups[g.Kind]; ok && g.Kind.Data() == topology.Store {
			all = append(all, tooSmall(g, first.Field, storeSize(g.Group), got, names)...)
		}
	}
	return all
}

// storeSize returns the size of all volumes with data of a store.
func storeSize(g topology.Group) (size topology.Size) {
	for _, v := range g.Volumes {
		if !strings.HasPrefix(v.Name, string(g.Kind)+"-") { // those are volumes that the user adds
			size += v.Size
		}
	}
	return size
}

// tooSmall is overfilled for the stores of one component, which are to have a size.
func tooSmall(g desired.Group, field string, size topology.Size, got state.Group, names []string) (all []error) {
	takes := topology.Size(nearlyFull * float64(size))
	var used topology.Size
	smaller, others := false, g.Spare-1
	for _, m := range got.InSet() {
		if m.Database.State == state.StoreUp {
			others, used = others+1, used+m.Database.Used
		}
		shrinks := slices.Contains(names, m.Name) && slices.ContainsFunc(m.Claims, func(c state.Claim) bool {
			v, ok := g.Volume(c.Template)
			return ok && v.Size < c.Requested
		})
		smaller = smaller || shrinks
		if shrinks && m.Database.Used > takes {
			all = append(all, fmt.Errorf("%s: %s has %s of data, and PD moves no regions to a store of %s that is more than %.0f%% full",
				field, m.Name, m.Database.Used, size, 100*nearlyFull))
		}
	}
	if room := takes * topology.Size(max(others, 0)); smaller && len(all) == 0 && used > room {
		all = append(all, fmt.Errorf("%s: all stores have %s of data, and while the last one is replaced, %s of %s take no more than %s",
			field, used, remedy.Count(others, "other one", "other ones"), size, room))
	}
	return all
}

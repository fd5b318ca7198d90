package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/consent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// consent asks the user before the request takes a service or data away. In a terminal it asks also before the
// request changes anything that exists, with what will be done. It reports whether it has asked. A dry run and --yes
// do not ask, and without a terminal only what takes something away needs --yes, as kubectl's verbs do.
func (p Prospect) consent(ctx context.Context, f *factory.Factory, o flags.Options) (asked bool, err error) {
	if o.Yes || o.DryRun != flags.NoDryRun {
		return false, nil
	}
	c, effects := p.Wanted.Cluster, p.Effects()
	if f.CanAsk() && !o.Output.JSON() && p.request.existing != nil && p.Plan.Outcome != plan.Paused {
		shown := p.Preview(f.Context())
		if len(shown.Forecast.Steps) > 0 {
			shown.Print(f.Streams.ErrOut, report.Width(f.Streams.ErrOut))
		}
		if len(shown.Forecast.Steps) > 0 && len(effects) == 0 {
			return true, consent.GoOn(ctx, f)
		}
	}
	if len(effects) == 0 {
		return false, nil
	}
	return true, consent.Ask(ctx, f, consent.Question{
		Namespace: c.Namespace, Name: c.Name, Effects: effects,
		Doing: fmt.Sprintf("carry out %q on %s", p.request.Action, target.Title(c)),
	})
}

// warningsOfDryRun returns what a run that is no dry run would ask about, and which volumes no node can use. In a cluster that
// is paused it also returns what an earlier run has begun.
func (p Prospect) warningsOfDryRun() []Warning {
	var notes []Warning
	for _, f := range p.Plan.Notices {
		if f.Reason == event.BegunBeforePause || f.Reason == event.VolumeLost {
			notes = append(notes, Warning{Text: cmp.Or(f.Member, f.Component.Title()) + ": " + f.Text, Remedy: f.Remedy})
		}
	}
	for _, effect := range p.Effects() {
		notes = append(notes, warn("you will be asked for the cluster's name, or have to give --yes: %s", effect))
	}
	return notes
}

// Effects returns what the request takes away that users may need, a sentence each. They depend on
// what is wanted and what exists, not on the verb: sync asks the same after the TidbCluster was
// edited.
func (p Prospect) Effects() []string {
	if p.Plan.Outcome == plan.Paused {
		return nil
	}
	var all []string
	for _, profile := range component.Profiles() {
		g, ok := p.Wanted.Group(profile.Kind)
		got := p.Snapshot.Groups[profile.Kind]
		switch {
		case ok && g.Suspend && g.Kind.Leads() && got.Set.Exists && p.servesElsewhere():
			all = append(all, fmt.Sprintf("%s is suspended while stores of other parts serve, so that regions with most of their copies here cannot be used", g.Kind.Title()))
		case !ok || g.Suspend:
		case g.Replicas == 0 && got.Set.Exists && got.Set.Replicas > 0:
			all = append(all, fmt.Sprintf("%s goes from %s to none, so that %s", g.Kind.Title(), preview.Members(got.Set.Replicas), g.Kind.Without()))
		case profile.Kind.Data() == topology.Raft && restartsOnly(g, got, p.Snapshot.PD):
			all = append(all, fmt.Sprintf("%s has one member, which restarts: until it serves again, the whole cluster cannot be used", g.Kind.Title()))
		}
	}
	return slices.Concat(all, p.discards(), p.replaces())
}

// servesElsewhere reports whether PD calls a store of another part Up.
func (p Prospect) servesElsewhere() bool {
	return slices.ContainsFunc(p.Snapshot.PD.OtherStores, func(s state.OtherStore) bool { return s.State == state.StoreUp })
}

// replaces returns the members whose data is deleted because this request names them.
func (p Prospect) replaces() []string {
	names := p.request.replacing(p.Wanted, p.Snapshot)
	if len(names) == 0 {
		return nil
	}
	return []string{"the claims of " + strings.Join(names, ", ") + " are deleted, each after the database does without the member, and made again empty"}
}

// replacing returns the members that this request names to get new volumes. Members that wait for that already are left
// out. A member may have been named for an earlier replacement that is done. If enablePVCReplace already asks for these
// replacements, the command does not ask for consent.
func (p proposal) replacing(w desired.State, snap state.Snapshot) []string {
	var names []string
	for _, g := range w.Groups {
		before := p.existingGroup(g.Kind)
		agreed := before.ReplacesVolumes && slices.Equal(before.Volumes, g.Volumes)
		for _, m := range snap.Groups[g.Kind].Members {
			if g.Replaces(m) && !before.Replaces(m) && !agreed {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// sparing returns the components that are to have a spare member because of this request, and not because of an earlier
// one.
func (p proposal) sparing(w desired.State, snap state.Snapshot) []topology.Kind {
	var kinds []topology.Kind
	for _, g := range w.Groups {
		if got := snap.Groups[g.Kind]; g.SpareFor(got) > 0 && p.existingGroup(g.Kind).SpareFor(got) == 0 {
			kinds = append(kinds, g.Kind)
		}
	}
	return kinds
}

// existingGroup returns what was asked for of a component before this request.
func (p proposal) existingGroup(k topology.Kind) desired.Group {
	var g desired.Group
	if p.existing != nil {
		g.Group, _ = p.existing.Group(k)
	}
	return g
}

// restartsOnly reports whether the only voter restarts for what is wanted. A voter that is reported
// not to serve may serve, unless its process has stopped.
func restartsOnly(g desired.Group, got state.Group, pd state.PD) bool {
	elsewhere := pd.Known() && pd.Members > got.Set.Replicas
	if g.Size() != 1 || g.Manual || elsewhere {
		return false
	}
	runs := slices.ContainsFunc(got.Members, func(m state.Member) bool { return !m.Stopped() })
	return runs && preview.Restarts(g, got) > 0
}

// discards returns the stores whose data is given up for good, as far as that has not begun yet.
func (p Prospect) discards() []string {
	names := slices.Clone(p.request.Policy.Failover.Discard)
	for _, g := range p.Wanted.Groups {
		names = slices.DeleteFunc(names, func(name string) bool {
			f, given := g.Failure(name)
			return given && f.Discarded
		})
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"the data of " + strings.Join(names, ", ") + " is given up for good"}
}

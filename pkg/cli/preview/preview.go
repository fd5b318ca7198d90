// Package preview shows what a command would do. It shows what changes in each component, all steps in order, and
// what is waited for after them. It also shows what the steps come to, and what cannot be taken back.
package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Preview is what a command would do to a cluster.
type Preview struct {
	Context string // of the kubeconfig
	Action  string // what is asked for, e.g. "upgrade to v8.1.1"
	Now     *topology.Cluster
	Wanted  desired.State
	// Seen is the cluster as it is.
	Seen     state.Snapshot
	Forecast forecast.Forecast
	// Differences are what changes in the pods of components that exist.
	Differences []render.Difference
	// Batches are the members of components in the order in which they restart. The members of each list may be down at
	// the same time. The map is empty where members restart one at a time.
	Batches map[topology.Kind][][]state.Member
	// Notes are said first.
	Notes []string
}

// change is what changes in a component.
type change struct {
	Component topology.Kind
	// From and To are versions, "" where it stays.
	From, To string
	// Has and Wants are numbers of members.
	Has, Wants int
	Suspended  bool
	Restarts   int
	// Replaced is how many members get new volumes, and Spare how many members are added for that and removed again.
	Replaced, Spare int
	// Leaves are the members that leave where these need not be the highest ordinals.
	Leaves []string
	// Batches are the members that restart together, list by list; none where they restart one at a time.
	Batches [][]string
	// Promoted is how many of these members a canary holds back until the canary is promoted.
	Promoted int
	Volumes  []string
	Manual   bool
	New      bool
	// Pods and Config are fields of the pod template and of the configuration.
	Pods, Config []render.Field
	// Effect says what a change of the configuration leads to, where it restarts nothing.
	Effect string
}

// Changes returns what changes in each component, a line each.
func (p Preview) Changes() []string {
	var all []string
	for _, c := range p.changes() {
		all = append(all, c.Component.Title()+": "+c.String())
	}
	return all
}

// changes returns what changes, in the order of the components.
func (p Preview) changes() []change {
	var all []change
	for _, g := range p.Wanted.Groups {
		if c, ok := p.change(g); ok {
			all = append(all, c)
		}
	}
	return all
}

func (p Preview) change(g desired.Group) (change, bool) {
	got := p.Seen.Groups[g.Kind]
	c := change{Component: g.Kind, Has: got.Set.Replicas, Wants: g.Replicas, Manual: g.Manual, Suspended: g.Suspend, New: !got.Set.Exists}
	switch {
	case g.Suspend:
		return c, got.Set.Exists
	case c.New:
		c.To = g.Version
		return c, true
	}
	if p.Now != nil {
		if old, ok := p.Now.Group(g.Kind); ok && old.Version != g.Version {
			c.From, c.To = old.Version, g.Version
		}
	}
	c.Volumes = volumes(g, got)
	c.Restarts, c.Spare = Restarts(g, got), g.Spare
	for _, m := range got.InSet() {
		if g.Replaces(m) {
			c.Replaced++
		}
	}
	c.Leaves, c.Batches = p.leaves(g, got), p.batches(g, got)
	if g.Held {
		c.Promoted = min(c.Restarts, max(g.Size()-g.Canary, 1))
	}
	for _, d := range p.Differences {
		if d.Component == g.Kind {
			c.Pods, c.Config = d.Pods, d.Config
		}
	}
	if len(c.Config) > 0 && c.Restarts == 0 {
		c.Effect = "configuration, in effect after the next restart"
		if g.Kind.Reloads() {
			c.Effect = "configuration, without a restart"
		}
	}
	return c, c.To != "" || c.Has != c.Wants || len(c.Volumes)+len(c.Leaves) > 0 || c.Restarts+c.Replaced > 0 || c.Effect != ""
}

// leaves returns the names of the members that leave, none where these are the highest ordinals.
func (p Preview) leaves(g desired.Group, got state.Group) []string {
	var all []string
	for _, m := range got.InSet() {
		if p.Wanted.Cluster.Advanced && !g.Has(m.Ordinal) {
			all = append(all, m.Name)
		}
	}
	return all
}

// batches returns the names of the members that restart, batch by batch; nil where they restart one at a time.
func (p Preview) batches(g desired.Group, got state.Group) [][]string {
	var all [][]string
	restarting, several := Restarting(g, got), false
	for _, batch := range p.Batches[g.Kind] {
		var members []string
		for _, m := range batch {
			if state.Has(restarting, m) {
				members = append(members, m.Name)
			}
		}
		if len(members) > 0 {
			all, several = append(all, members), several || len(members) > 1
		}
	}
	if !several {
		return nil
	}
	return all
}

// volumes says which volumes of a component change.
func volumes(g desired.Group, got state.Group) (all []string) {
	for _, v := range g.Volumes {
		have, ok := got.Set.Volumes[v.Name]
		class := v.Class != "" && v.Class != have.Class
		switch {
		case !ok: // no volume can be added
		case g.OtherVolumes && moves(v, got):
			all = append(all, fmt.Sprintf("new volumes %s, mounted at %s", v.Name, v.Path))
		case class && have.Size != v.Size:
			all = append(all, fmt.Sprintf("new volumes %s of class %s and %s in place of class %s and %s", v.Name, v.Class, v.Size, named(have.Class), have.Size))
		case class:
			all = append(all, fmt.Sprintf("new volumes %s of class %s in place of class %s", v.Name, v.Class, named(have.Class)))
		case have.Size > v.Size:
			all = append(all, fmt.Sprintf("new volumes %s of %s in place of %s", v.Name, v.Size, have.Size))
		case v.Attributes != "" && v.Attributes != have.Attributes:
			all = append(all, fmt.Sprintf("volumes %s with VolumeAttributesClass %s, without a restart", v.Name, v.Attributes))
		case have.Size < v.Size:
			all = append(all, fmt.Sprintf("volumes %s from %s to %s, without a restart", v.Name, have.Size, v.Size))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got.Set.Volumes)) {
		if _, wanted := g.Volume(name); !wanted && g.OtherVolumes {
			all = append(all, fmt.Sprintf("no volume %s any more", name))
		}
	}
	return all
}

// moves reports whether a member mounts a volume at another path than is wanted.
func moves(v topology.Volume, got state.Group) bool {
	return slices.ContainsFunc(got.Members, func(m state.Member) bool { return m.Pod != nil && v.MovedFrom(m.Pod.Mounts[v.Name]) })
}

// named returns the name of a storage class for the user.
func named(class string) string { return cmp.Or(class, "(default)") }

func (c change) String() string {
	switch {
	case c.Suspended:
		return fmt.Sprintf("suspended: its %s stop, their data is kept", Members(c.Has))
	case c.New:
		return fmt.Sprintf("%s of %s", Members(c.Wants), c.To)
	}
	var parts []string
	if c.From != "" {
		parts = append(parts, fmt.Sprintf("%s to %s", c.From, c.To))
	}
	if c.Has != c.Wants {
		parts = append(parts, fmt.Sprintf("%d to %s", c.Has, Members(c.Wants)))
	}
	if len(c.Leaves) > 0 {
		parts = append(parts, "without "+strings.Join(c.Leaves, ", "))
	}
	parts = append(parts, c.Volumes...)
	if c.Effect != "" {
		parts = append(parts, c.Effect)
	}
	switch n := c.Restarts; {
	case n > 0 && c.Manual:
		parts = append(parts, fmt.Sprintf("%d to restart only when you ask for it", n))
	case len(c.Batches) > 0:
		parts = append(parts, fmt.Sprintf("%d to restart, in %s", n, remedy.Count(len(c.Batches), "batch", "batches")))
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d to restart, one at a time", n))
	case n > 0:
		parts = append(parts, "1 to restart")
	}
	if c.Replaced > 0 {
		parts = append(parts, fmt.Sprintf("%d to get new volumes, one at a time", c.Replaced))
	}
	if c.Spare > 0 {
		parts = append(parts, "a spare member until then")
	}
	if c.Promoted > 0 {
		parts = append(parts, fmt.Sprintf("%d of them after \"kubectl tidb promote\"", c.Promoted))
	}
	return strings.Join(parts, ", ")
}

// Restarts counts the members that stay and get another pod.
func Restarts(g desired.Group, got state.Group) int { return len(Restarting(g, got)) }

// Restarting returns the members that stay and get another pod. Members that need other volumes are replaced instead.
func Restarting(g desired.Group, got state.Group) []state.Member {
	stay := slices.DeleteFunc(got.InSet(), func(m state.Member) bool {
		return !g.InSpec(m.Ordinal) || g.Kind.Data() != topology.None && !g.HasVolumes(m)
	})
	if got.Set.Template != g.Template {
		return stay
	}
	return slices.DeleteFunc(stay, func(m state.Member) bool { return !got.Outdated(m) && !g.Named(m) })
}

// Members is a number of members in words.
func Members(n int) string {
	return remedy.Count(n, "member", "members")
}

func (p Preview) title() string {
	return fmt.Sprintf("cluster %s/%s", p.Wanted.Cluster.Namespace, p.Wanted.Cluster.Name)
}

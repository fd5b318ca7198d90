package scale

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// parseRemoved reads the members that the user names with --remove.
func (o *options) parseRemoved() error {
	c, all := topology.Cluster{Name: o.name[0]}, o.remove
	o.remove = nil
	for _, arg := range all {
		kind, ordinal, named := c.Named(arg)
		member := c.PodName(kind, ordinal)
		_, scaled := o.replicas[kind]
		switch {
		case !named || ordinal == topology.Every:
			return exit.Usagef("--remove %s: it is no member of a cluster %s, such as tikv-0", arg, c.Name)
		case !scaled:
			return exit.Usagef("--remove %s: give the number of replicas without it as well, such as %s=3", arg, kind)
		case slices.Contains(o.remove, member):
			return exit.Usagef("--remove %s is given twice", arg)
		}
		o.remove = append(o.remove, member)
	}
	return nil
}

// scaleIn is what a scale-in of one component removes, and what the user wants to have removed.
type scaleIn struct {
	kind          topology.Kind
	replicas      int32
	anyLeaves     bool // its StatefulSet can have slots
	got           state.Group
	leaves, named []string // pods
}

// removable fails unless the scale-in removes the members that the user names, and no others of their components. now is
// the cluster before the change, and want the cluster after it.
func (o options) removable(now, want topology.Cluster, advanced bool, groups map[topology.Kind]state.Group) error {
	changes := map[topology.Kind]*scaleIn{}
	for _, name := range o.remove {
		k, n, _ := want.Member(name)
		got := groups[k]
		if before, wanted := now.Group(k); !wanted || !before.Has(n) && !got.Set.Ordinals().Has(n) {
			return target.UnknownMember(now, name)
		}
		if changes[k] == nil {
			changes[k] = &scaleIn{kind: k, replicas: o.replicas[k], anyLeaves: advanced && topology.TakesSlots(k), got: got, leaves: surplus(want, k, got)}
		}
		changes[k].named = append(changes[k].named, name)
	}
	for _, k := range slices.Sorted(maps.Keys(changes)) {
		if err := changes[k].refuse(want); err != nil {
			return err
		}
	}
	return nil
}

// slots returns the slots that components get where the StatefulSets of the cluster can have slots. A member above all
// ordinals leaves without one.
func (o options) slots(now topology.Cluster, advanced bool) map[topology.Kind][]int {
	all := map[topology.Kind][]int{}
	for _, name := range o.remove {
		k, n, _ := now.Member(name)
		if advanced && topology.TakesSlots(k) {
			all[k] = append(all[k], n)
		}
	}
	for k, named := range all {
		g, _ := now.Group(k)
		before := g.Slots
		g.Replicas, g.Slots = int(o.replicas[k]), slices.Concat(before, named)
		end := g.Ordinals().End()
		slots := slices.DeleteFunc(slices.Clone(g.Slots), func(n int) bool { return n >= end && !slices.Contains(before, n) })
		slices.Sort(slots)
		all[k] = slices.Compact(slots)
	}
	return all
}

// surplus returns the members of a StatefulSet that are not wanted, by their names.
func surplus(want topology.Cluster, k topology.Kind, got state.Group) []string {
	var all []string
	g, _ := want.Group(k)
	for _, n := range got.Set.Ordinals().All() {
		if !g.Has(n) {
			all = append(all, want.PodName(k, n))
		}
	}
	return all
}

// refuse returns why a scale-in does not remove exactly what the user names, nil where it does.
func (s scaleIn) refuse(c topology.Cluster) error {
	arg, leaves := fmt.Sprintf("%s=%d", s.kind, s.replicas), strings.Join(s.leaves, ", ")
	stays := subtract(s.named, s.leaves)
	switch others := subtract(s.leaves, s.named); {
	case len(stays) == 0 && len(others) == 0:
		return nil
	case len(stays) == 0:
		args := []string{arg}
		for _, name := range s.leaves {
			args = append(args, "--remove", name)
		}
		why := ", because a StatefulSet removes only its highest ordinals"
		if s.anyLeaves {
			why = ""
		}
		return remedy.For(exit.Refusef("%s removes %s as well%s; nothing was changed", arg, strings.Join(others, ", "), why),
			remedy.Run("remove all of them", c.Plugin("scale", args...)))
	case len(s.leaves) == 0:
		return remedy.For(exit.Refusef("%s removes no member, so %s would stay; nothing was changed", arg, strings.Join(stays, ", ")), s.instead(c, stays)...)
	}
	help := append(s.instead(c, stays), remedy.Run("remove "+leaves, c.Plugin("scale", arg)))
	return remedy.For(exit.Refusef("a StatefulSet removes only its highest ordinals: %s removes %s, and %s would stay; nothing was changed",
		arg, leaves, strings.Join(stays, ", ")), help...)
}

// instead returns how members that stay get new volumes, or new pods where they have no data. Their nodes are cordoned
// before, if they are to run elsewhere.
func (s scaleIn) instead(c topology.Cluster, stays []string) remedy.Remedy {
	what, command := "give "+strings.Join(stays, ", ")+" a new volume", c.Plugin("replace", stays...)
	if s.kind.Data() == topology.None {
		what, command = "restart "+strings.Join(stays, ", "), c.Plugin("restart", stays...)
	}
	help := remedy.Remedy{remedy.Run(what, command)}
	var nodes []string
	for _, name := range stays {
		if m, _ := s.got.Member(name); m.Pod != nil && m.Pod.Node != "" && !slices.Contains(nodes, m.Pod.Node) {
			nodes = append(nodes, m.Pod.Node)
		}
	}
	if len(nodes) > 0 {
		help = append(help, remedy.Run("do that on another node", remedy.Kubectl("", append([]string{"cordon"}, nodes...)...), command))
	}
	return help
}

// subtract returns the elements of a list that are not in another one.
func subtract(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
}

package facts

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// RestartsWithNewVolumes reports whether a member without data gets new volumes with its next restart, because a user has
// asked for that. Such a member leaves no database. The new claims are made from the claim templates. So the member
// waits until the StatefulSet has the claim templates of the spec.
func (c Component) RestartsWithNewVolumes(m state.Member) bool {
	return c.Want.Kind.Data() == topology.None && m.Pod != nil && c.Want.Replaces(m) && !c.TemplatesDiffer()
}

// WaitsForReplacement reports whether a user has asked for new volumes of a member, and the database still counts on the
// member with its old ones.
func (c Component) WaitsForReplacement(m state.Member) bool {
	return m.Name != "" && c.Want.Kind.Data() != topology.None && c.Want.Replaces(m) && m.CountedOn()
}

// NextToReplace returns the member that is replaced next by its name. A store that leaves already comes before other
// ones. Before the next member begins, a spare member is there, and members that are not wanted have left.
// Otherwise more members would leave at the same time than the user allows. The claim templates are as wanted as well,
// because the claims of the next member are made from these. A member that keeps old volumes does not wait for claim
// templates. A rollout cannot end before the member is replaced, and claim templates may wait for the rollout. A member
// that is down comes first, because the other members wait for that member. PD's leader comes last, because leadership
// moves once then, to a member with new data.
func (c Component) NextToReplace() (state.Member, bool) {
	if len(c.Want.Replacements) == 0 {
		return state.Member{}, false
	}
	leaves := func(m state.Member) bool { return c.WaitsForReplacement(m) && m.Database.State == state.StoreOffline }
	if m, ok := c.Highest(leaves); ok {
		return m, true
	}
	if !c.Want.Ordinals().Same(c.Got.Set.Ordinals()) || c.Want.OtherVolumes {
		return state.Member{}, false
	}
	differ := c.TemplatesDiffer()
	waits := func(m state.Member) bool { return c.WaitsForReplacement(m) && (!differ || c.KeepsOldVolumes(m)) }
	if m, ok := c.Highest(func(m state.Member) bool { return waits(m) && m.IsDown() }); ok {
		return m, true
	}
	if m, ok := c.Highest(func(m state.Member) bool { return waits(m) && !m.Database.Leader }); ok {
		return m, true
	}
	return c.Highest(waits)
}

// BeingReplaced reports whether a member is the one that is replaced now. What was begun for its removal stays.
func (c Component) BeingReplaced(m state.Member) bool {
	next, waits := c.NextToReplace()
	return waits && next.Ordinal == m.Ordinal
}

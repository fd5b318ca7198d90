package facts

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// WaitsForReplacement reports whether a user has asked for new volumes of a member, and the database still counts on the
// member with its old ones.
func (c Component) WaitsForReplacement(m state.Member) bool {
	return m.Name != "" && c.Want.Kind.Data() != topology.None && c.Want.Replaces(m) && m.CountedOn()
}

// NextToReplace returns the member that is replaced next by its name. A store that leaves already comes before other
// ones. PD's leader comes last, because then its leadership moves once, to a member with new data. A spare member has to
// be there before.
func (c Component) NextToReplace() (state.Member, bool) {
	if c.Want.Size() > c.Got.Set.Replicas {
		return state.Member{}, false
	}
	for _, is := range []func(state.Member) bool{
		func(m state.Member) bool { return m.Database.State == state.StoreOffline },
		func(m state.Member) bool { return !m.Database.Leader },
		func(state.Member) bool { return true },
	} {
		if m, ok := c.Highest(func(m state.Member) bool { return c.WaitsForReplacement(m) && is(m) }); ok {
			return m, true
		}
	}
	return state.Member{}, false
}

// BeingReplaced reports whether a member is the one that is replaced now. What was begun for its removal stays.
func (c Component) BeingReplaced(m state.Member) bool {
	next, waits := c.NextToReplace()
	return waits && next.Ordinal == m.Ordinal
}

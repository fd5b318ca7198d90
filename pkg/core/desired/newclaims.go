package desired

import (
	"maps"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// WithVolumesReplaced returns a cluster that names each member whose claims cannot follow the spec, where the spec asks for
// the replacement of all of these. As with tidb-operator, no claim may be larger than the spec asks for, also where
// somebody has made the claim larger by hand. A request ends with the claims of the member.
//
// Where only the status says that tidb-operator replaces volumes, members that it has begun to replace are named. The user
// may have switched the replacement off since, and does not ask for the other ones.
func WithVolumesReplaced(c topology.Cluster, groups map[topology.Kind]state.Group) topology.Cluster {
	c.Groups = slices.Clone(c.Groups)
	for i := range c.Groups {
		g, got := Group{Group: c.Groups[i]}, groups[c.Groups[i].Kind]
		all := maps.Clone(g.Replacements)
		for _, m := range got.InSet() {
			switch {
			case !g.Unfit(got, m) || !g.InSpec(m.Ordinal) || len(m.Claims) == 0 || g.Replaces(m):
			case g.ReplacesVolumes || g.VolumesBegun && begun(m):
				if all == nil {
					all = map[string]topology.MemberReplacement{}
				}
				all[m.Name] = topology.MemberReplacement{Claims: m.ClaimUIDs(), Spare: g.VolumeSpare}
			}
		}
		c.Groups[i].Replacements = all
	}
	return c
}

// begun reports whether tidb-operator has marked the pod of a member for new volumes, or the member leaves the database
// or has left it.
func begun(m state.Member) bool {
	return m.Pod != nil && m.Pod.VolumesReplaced || m.Database.State == state.StoreOffline || m.RemovalIrreversible()
}

// Unfit reports whether a member has claims that are not as the spec says and cannot become so. A claim that is larger than
// the spec asks for is one too. NeedsNewClaims allows such a claim where somebody has made the claim larger by hand.
func (g Group) Unfit(got state.Group, m state.Member) bool {
	return g.NeedsNewClaims(got, m) || slices.ContainsFunc(m.Claims, g.isLarger)
}

// isLarger reports whether a claim is larger than the spec asks for.
func (g Group) isLarger(c state.Claim) bool {
	v, ok := g.Volume(c.Template)
	return ok && c.Requested > v.Size
}

// NeedsNewClaims reports whether a member has a claim that can never become as the spec says. Only a new claim can have
// another storage class, or a smaller size than the claim templates that there are. Only a new claim can be larger where
// the storage class lets no volume grow. A member with data whose pod has other volumes than the spec asks for needs new
// claims as well. A member without data only restarts with these volumes.
func (g Group) NeedsNewClaims(got state.Group, m state.Member) bool {
	return g.Kind.Data() != topology.None && !g.HasVolumes(m) || slices.ContainsFunc(m.Claims, func(c state.Claim) bool {
		v, ok := g.Volume(c.Template)
		switch {
		case !ok:
			return false
		case v.Excludes(c.Class, 0):
			return true
		case c.Growth == state.NotGrowable && !c.Holds(v.Size):
			return true
		}
		return got.Set.Volumes[c.Template].Size > v.Size && c.Requested > v.Size
	})
}

// HasVolumes reports whether the pod of a member has the volumes that are wanted, at the paths that are wanted. It is true
// where that is not known.
func (g Group) HasVolumes(m state.Member) bool {
	if m.Pod == nil || m.Pod.Mounts == nil {
		return true
	}
	for _, v := range g.Volumes {
		if path, has := m.Pod.Mounts[v.Name]; !has || v.MovedFrom(path) {
			return false
		}
	}
	return len(m.Pod.Mounts) == len(g.Volumes)
}

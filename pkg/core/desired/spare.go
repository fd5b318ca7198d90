package desired

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// SpareFor returns how many members more a component needs to replace some of its members.
func (g Group) SpareFor(got state.Group) int {
	for _, m := range got.Members {
		if g.Replacements[m.Name].Spare && g.Replaces(m) {
			return 1
		}
	}
	return 0
}

// WithSpares returns a cluster that has spare members as if a user had asked for more replicas. Certificates have to be
// for these members as well.
func WithSpares(c topology.Cluster, groups map[topology.Kind]state.Group) topology.Cluster {
	c.Groups = slices.Clone(c.Groups)
	for i := range c.Groups {
		g := &c.Groups[i]
		g.Replicas += Group{Group: *g}.SpareFor(groups[g.Kind])
	}
	return c
}

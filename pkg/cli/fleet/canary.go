package fleet

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// shareCanary gives each part of a database its canary. The first part that has enough members restarts as many as are
// asked for. In the other parts the rollout stops before the component, because these members are of the same database.
func shareCanary(parts []*cluster, asked topology.Canary) {
	watched := slices.IndexFunc(parts, func(c *cluster) bool {
		g, has := c.Group(asked.Kind)
		return has && g.Size() > asked.Members
	})
	if watched < 0 { // the check of a part that has the component says what is wrong
		watched = max(slices.IndexFunc(parts, func(c *cluster) bool {
			_, has := c.Group(asked.Kind)
			return has
		}), 0)
	}
	for i, c := range parts {
		if i == watched {
			c.canary = asked.String()
		} else if k, has := c.nextToRestart(asked.Kind); has {
			c.canary = topology.Canary{Kind: k}.String()
		}
	}
}

// nextToRestart returns the first component that a part has, from a component on in the order of a rollout.
func (c *cluster) nextToRestart(from topology.Kind) (topology.Kind, bool) {
	order := component.Profiles()
	first := slices.IndexFunc(order, func(p plan.Profile) bool { return p.Kind == from })
	for _, p := range order[first:] {
		if g, has := c.Group(p.Kind); has && g.Size() > 0 {
			return p.Kind, true
		}
	}
	return "", false
}

// stopped reports whether the run of a cluster has stopped at its canary. The other parts of the database are driven to
// theirs.
func (c *cluster) stopped() bool { return drive.AtCanary(c.err) }

// promotion returns the command that lets the rollout go on in all parts.
func (r *run) promotion() remedy.Action {
	return remedy.Run("watch them, and then go on in all parts", remedy.Plugin(*r.f.Flags.Namespace, "promote", r.o.Name, "--contexts", r.o.contexts.String()))
}

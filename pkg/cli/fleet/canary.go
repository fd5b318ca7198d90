package fleet

import (
	"errors"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// shareCanary gives each part of a database its canary. One part restarts as many members as are asked for. In the other
// parts the rollout stops before the component, because their members are of the same database. The part that has
// restarted members of an earlier canary goes on with them, else the first part that has enough members.
func shareCanary(parts []*cluster, asked topology.Canary) error {
	watched := slices.IndexFunc(parts, func(c *cluster) bool {
		is, err := topology.ParseCanary(c.Canary)
		_, has := c.Group(asked.Kind)
		return err == nil && is.Members > 0 && has
	})
	if watched < 0 {
		watched = slices.IndexFunc(parts, func(c *cluster) bool {
			g, has := c.Group(asked.Kind)
			return has && g.Size() > asked.Members
		})
	}
	if watched < 0 { // the check of a part that has the component says what is wrong
		watched = max(slices.IndexFunc(parts, func(c *cluster) bool {
			_, has := c.Group(asked.Kind)
			return has
		}), 0)
	}
	for i, c := range parts {
		switch {
		case i == watched:
			c.canary, c.watched = asked.String(), true
		case asked.Kind.Data() == topology.Raft && !c.HasPD():
			return exit.Usagef("--canary %s holds PD, and %s/%s has no PD of its own and waits until PD is upgraded: give --canary for a later component, with 0 to stop before it; nothing was changed",
				asked, c.Namespace, c.Name)
		default:
			c.holdFrom(asked.Kind)
		}
	}
	return nil
}

// holdFrom has the rollout of a part stop before a component, or before the next one that the part has. It stops nowhere if
// there is none.
func (c *cluster) holdFrom(from topology.Kind) {
	order := component.Profiles()
	c.canary = ""
	for _, p := range order[slices.IndexFunc(order, func(p plan.Profile) bool { return p.Kind == from }):] {
		if g, has := c.Group(p.Kind); has && g.Size() > 0 {
			c.canary = topology.Canary{Kind: p.Kind}.String()
			return
		}
	}
}

// holdLater has the rollout of a part stop before a later component, because this change restarts no member of the
// component of its canary. It reports whether there was a canary to change. The part that is watched keeps its canary.
func (c *cluster) holdLater(err error) bool {
	is, none := topology.ParseCanary(c.canary)
	if _, holdsNothing := errors.AsType[*check.HoldsNothingError](err); !holdsNothing || c.watched || none != nil {
		return false
	}
	order := component.Profiles()
	next := slices.IndexFunc(order, func(p plan.Profile) bool { return p.Kind == is.Kind }) + 1
	if next == len(order) {
		c.canary = ""
	} else {
		c.holdFrom(order[next].Kind)
	}
	return true
}

// stopsAt reports whether a run has ended at the canary that this command has asked for. The other parts of the database
// have theirs. A canary of an earlier change is a failure, because nothing would hold the other parts.
func (c *cluster) stopsAt(err error) bool { return c.canary != "" && drive.AtCanary(err) }

// promotion returns the command that lets the rollout go on in all parts.
func (r *run) promotion() remedy.Action {
	return remedy.Run("watch them, and then go on in all parts", remedy.Plugin(*r.f.Flags.Namespace, "promote", r.o.Name, "--contexts", r.o.contexts.String()))
}

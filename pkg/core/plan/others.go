package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// findings returns what is to be reported about the components' objects, and about a canary that cannot be followed. It
// also reports volumes that no node can use, and evict-leader schedulers of other users on wanted stores. Such a store
// serves no region as long as its scheduler is there. The scheduler of a maintenance is no other user's, and the
// maintenance has a notice.
func findings(w desired.State, s state.Snapshot) []desired.Notice {
	all := slices.Concat(canaryFindings(w.Cluster), pausedDDL(w.Cluster), lostVolumes(w, s))
	for _, g := range w.Groups {
		all = append(all, g.Notices...)
		for _, m := range s.Groups[g.Kind].Members {
			e, recorded := s.Eviction(m.Database.ID)
			if !m.Database.Evicting || !g.Has(m.Ordinal) || recorded && !e.Foreign || w.Cluster.EvictsForMaintenance(m.Database.ID) {
				continue
			}
			id := m.Database.ID
			all = append(all, desired.Notice{
				Reason: event.ForeignScheduler, Component: g.Kind, Member: m.Name,
				Text: fmt.Sprintf("store %d leads no regions: a user or another tool made an evict-leader scheduler for it in PD", id),
				Remedy: remedy.Remedy{
					remedy.Run("remove it", remedy.Plugin(w.Cluster.Namespace, "evict-leader", w.Cluster.Name, m.Name, "--stop")),
				},
			})
		}
	}
	return all
}

// lostVolumes reports members whose volumes no node can use. Kubernetes itself says only that no node fits.
func lostVolumes(w desired.State, s state.Snapshot) (all []desired.Notice) {
	for _, g := range w.Groups {
		for _, m := range s.Groups[g.Kind].Members {
			if !m.LacksVolume() || !g.Has(m.Ordinal) || g.Suspend {
				continue
			}
			n := desired.Notice{
				Reason: event.VolumeLost, Component: g.Kind, Member: m.Name, Object: m.LostVolume.Name,
				Text: m.LostVolume.String() + ", so that its pod gets no node",
			}
			if !g.Replaces(m) {
				n.Remedy = remedy.Remedy{NewVolume(w.Cluster, m)}
			}
			all = append(all, n)
		}
	}
	return all
}

// explainRemoval adds, for members that others are removing from the database, why they do not serve.
// The plugin does not stop such a removal: a person has asked PD for it.
func (d *decision) explainRemoval(v verdict) verdict {
	if d.profile.Abandoned == nil {
		return v
	}
	for i := range v.gates {
		g := &v.gates[i]
		m, ok := d.Got.Member(g.Member)
		if !ok || g.Reason != MemberServing || !d.Kept(m) || d.gaveUp(m) {
			continue
		}
		switch leaving, open := d.try(*d.profile.Abandoned, m); {
		case open:
		case m.Pod == nil || !m.Pod.Ready || m.Pod.Terminating:
			g.Observed += "; " + leaving.gates[0].Observed // what is wrong with the pod comes first
			g.Remedy = append(slices.Clone(g.Remedy), leaving.gates[0].Remedy...)
		default:
			*g = leaving.gates[0]
		}
	}
	return v
}

// describe returns the command that shows what Kubernetes reports about an object.
func (sc Scope) describe(resource, name string) remedy.Remedy {
	return remedy.Remedy{remedy.Run("see why", sc.Cluster.Kubectl("describe", resource, name))}
}

// logs returns the command that shows the log of a member's main container.
func (sc Scope) logs(m state.Member, flags ...string) remedy.Remedy {
	return remedy.Remedy{remedy.Run("see why", sc.Cluster.Kubectl(append([]string{"logs", m.Name, "-c", string(m.Kind)}, flags...)...))}
}

// PDCtl returns a command that runs pd-ctl.
func (sc Scope) PDCtl(args string) remedy.Command { return PDCtl(*sc.Cluster, *sc.All, args) }

// PDCtl returns a command that runs pd-ctl in a pod of PD, in one that serves if there is one.
func PDCtl(c topology.Cluster, s state.Snapshot, args string) remedy.Command {
	pod := c.PDPart().PodName(topology.PD, 0)
	for _, m := range s.Groups[topology.PD].Members {
		if m.Up() {
			pod = m.Name
			break
		}
	}
	return c.PDCtl(pod, args)
}

package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// replaceNamed removes a member from the database that a user has named, and says how the user takes that back.
func (d *decision) replaceNamed(m state.Member) verdict {
	v := d.release(m)
	for i := range v.gates {
		if g := &v.gates[i]; g.Member == m.Name {
			g.Remedy = append(d.spareHelp(m, *g), append(g.Remedy[:len(g.Remedy):len(g.Remedy)],
				remedy.Run("to call its replacement off", d.Cluster.Plugin("replace", m.Name, "--cancel")))...)
		}
	}
	return v
}

// spareHelp returns how the regions of a store get room, where a gate says that there is none.
func (d *decision) spareHelp(m state.Member, g Gate) remedy.Remedy {
	needs := g.Reason == EnoughStores || g.Reason == PlacementPossible
	if !needs || !g.Blocked || d.Want.Kind.Data() != topology.Store || d.Want.Replacements[m.Name].Spare {
		return nil
	}
	return remedy.Remedy{remedy.Run("add a store until it is replaced", d.Cluster.Plugin("replace", m.Name, "--spare"))}
}

// Unreplaceable returns why members that a user names cannot leave the database, before anything is changed. Where the
// user has asked for a spare member, the answer is known when that member is there. Members that were named before are
// left out, because what a run has begun makes fewer stores.
func Unreplaceable(profiles []Profile, w desired.State, s state.Snapshot, names []string) []Gate {
	var gates []Gate
	for _, d := range decisionsOf(profiles, &Policy{}, &w, &s) {
		for _, m := range d.Got.InSet() {
			if slices.Contains(names, m.Name) && s.PD.Known() && d.WaitsForReplacement(m) && !d.Want.Replacements[m.Name].Spare {
				gates = append(gates, d.unreplaceable(m)...)
			}
		}
	}
	return gates
}

// unreplaceable returns the first refusal of the removal of a member.
func (d *decision) unreplaceable(m state.Member) []Gate {
	for _, h := range d.profile.BeforeRemove {
		v, _ := d.try(Hook{Reason: h.Reason, Want: h.Want, Refuse: h.Refuse, Remedy: h.Remedy, Help: h.Help}, m)
		for _, g := range v.gates {
			g.Remedy = append(d.spareHelp(m, g), g.Remedy...)
			return []Gate{g}
		}
	}
	return nil
}

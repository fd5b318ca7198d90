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
			g.Remedy = append(g.Remedy[:len(g.Remedy):len(g.Remedy)], remedy.Run("to call its replacement off", d.Cluster.Plugin("replace", m.Name, "--cancel")))
		}
	}
	return v
}

// Unreplaceable returns why members that a user has named cannot leave the database, before anything is changed. Where
// the user has asked for a spare member, the answer is known when that member is there.
func Unreplaceable(profiles []Profile, w desired.State, s state.Snapshot) []Gate {
	var gates []Gate
	for _, d := range decisionsOf(profiles, &Policy{}, &w, &s) {
		if d.Want.Spare > 0 || !s.PD.Known() {
			continue
		}
		for _, m := range d.Got.InSet() {
			if d.WaitsForReplacement(m) {
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
			if spares := []Reason{EnoughStores, PlacementPossible}; slices.Contains(spares, g.Reason) && d.Want.Kind.Data() == topology.Store {
				g.Remedy = append(remedy.Remedy{remedy.Run("add a store until it is replaced", d.Cluster.Plugin("replace", m.Name, "--spare"))}, g.Remedy...)
			}
			return []Gate{g}
		}
	}
	return nil
}

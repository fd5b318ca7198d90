package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// replaceNamed removes a member from the database that a user has named, and says how the user takes that back.
func (d *decision) replaceNamed(m state.Member) verdict {
	if first := d.removedBefore(m); len(first) > 0 {
		return d.awaitServing(first)
	}
	if v := d.downVoterFirst(m); !v.idle() {
		return v
	}
	if v := d.awaitBalance(m); !v.idle() {
		return v.plus(othersStay.ask(d.about(m)))
	}
	v := d.release(m)
	for i := range v.gates {
		if g := &v.gates[i]; g.Member == m.Name {
			g.Remedy = d.replacementHelp(m, *g)
		}
	}
	return v
}

// downVoterFirst has a voter that is down leave before a member is replaced. A voter leaves while all that stay serve, so a
// member that does not serve would wait for itself.
func (d *decision) downVoterFirst(m state.Member) verdict {
	if !m.Up() {
		return verdict{}
	}
	return d.downVoterLeaves()
}

// removedBefore returns the members that the database has removed, and that have to serve again before a member begins to
// leave. A spare member may have got the claim of an earlier spare member, so that it needs a new claim first.
func (d *decision) removedBefore(m state.Member) []state.Member {
	if m.Database.State == state.StoreOffline {
		return nil
	}
	var first []state.Member
	for _, o := range d.Got.InSet() {
		if o.Ordinal != m.Ordinal && d.Kept(o) && o.RemovalIrreversible() {
			first = append(first, o)
		}
	}
	return d.NotServing(first)
}

// awaitBalance waits, before a member begins to leave, for members that were replaced before it. PD has yet to give them
// their share of regions. The user asks for that with the request. Members that do not serve are waited for anyway.
func (d *decision) awaitBalance(m state.Member) (v verdict) {
	if m.Database.State == state.StoreOffline || !d.Want.Replacements[m.Name].WaitBalanced {
		return verdict{}
	}
	for _, o := range d.Got.InSet() {
		if _, named := d.Want.Replacements[o.Name]; named && !d.Want.Replaces(o) && d.Want.InSpec(o.Ordinal) && o.Up() {
			v = v.plus(d.pursue(d.profile.BeforeNext, o))
		}
	}
	for i := range v.gates {
		v.gates[i].Remedy = append(slices.Clone(v.gates[i].Remedy), remedy.Run("go on without waiting for that", d.Cluster.Plugin("replace", d.unbalanced()...)))
	}
	return v
}

// unbalanced returns the arguments of the command that turns --wait-balanced off for the waiting members.
func (d *decision) unbalanced() (args []string) {
	for _, m := range d.Got.InSet() {
		if d.WaitsForReplacement(m) && d.Want.Replacements[m.Name].WaitBalanced {
			args = append(args, m.Name)
		}
	}
	return append(args, "--wait-balanced=false")
}

// replacementHelp returns what a person can do about a gate that a member waits for before its replacement. It is the
// remedy of the gate, and also how to call the replacement off, while the member can come back with its data.
func (d *decision) replacementHelp(m state.Member, g Gate) remedy.Remedy {
	if m.RemovalIrreversible() {
		return g.Remedy
	}
	off := remedy.Run("to call its replacement off", d.Cluster.Plugin("replace", m.Name, "--cancel"))
	return slices.Concat(d.spareHelp(m, g), g.Remedy, remedy.Remedy{off})
}

// beforeReplacement must hold before a member that a user has named leaves the database. Only kubectl tidb why goes
// through this list. A run asks for the same in replaceLostData.
var beforeReplacement = []condition{
	{
		want: "the database lists the member", because: "the database says when it does without the member", by: ByDatabase,
		unmet: func(s *subject) string {
			return textIf(!s.member.CountedOn() && !s.member.RemovalIrreversible(), "it is not known to list "+s.member.Name)
		},
	},
	{
		want: "no member gets new data now", because: "with a member that has new data, the others have all of the data again", by: ByTool,
		unmet: (*subject).renewedBefore,
	},
	{
		want: "no voter that is to leave is down", because: "its vote counts for the size of a quorum until it has left", by: ByTool,
		waits: func(s *subject) verdict { return s.downVoterFirst(s.member) },
	},
	{
		want: "regions balanced", because: "the user asks that PD balances regions before the next member is replaced", by: ByDatabase,
		waits: func(s *subject) verdict { return s.awaitBalance(s.member) },
	},
	{want: "its turn to be replaced", because: "members are replaced one at a time", by: ByTool, unmet: (*subject).replacedLater},
}

// leftForReplacement is what the database does before the claims of a member are deleted.
var leftForReplacement = condition{
	because: leftDatabase.because, by: leftDatabase.by, goals: leftDatabase.goals,
	advice: func(s *subject, g Gate) remedy.Remedy { return s.replacementHelp(s.member, g) },
}

// templatesWritten is asked before the restart of a member without data that gets new volumes.
var templatesWritten = condition{
	want: "StatefulSet with the claim templates that are wanted", because: "the new claims are made from them", by: ByTool,
	unmet: func(s *subject) string {
		return textIf(s.TemplatesDiffer(), "its StatefulSet is made again first, with other claim templates")
	},
}

// renewedBefore returns which member gets new data before a member is replaced, "" where there is none.
func (s *subject) renewedBefore() string {
	first := s.removedBefore(s.member)
	for _, m := range s.Got.InSet() {
		if m.Name != s.member.Name && (renewed(m) || s.MustReplaceData(m)) {
			first = append(first, m)
		}
	}
	if len(first) == 0 {
		return ""
	}
	return first[0].Name + " gets new data"
}

// replacedLater returns what is done before a member is replaced, "" where its turn has come. A member on which the
// database does not count has no turn.
func (s *subject) replacedLater() string {
	next, waits := s.NextToReplace()
	switch {
	case !s.member.CountedOn() || waits && next.Name == s.member.Name:
		return ""
	case waits:
		return next.Name + " is replaced first"
	case s.TemplatesDiffer():
		return "its StatefulSet is made again first, with other claim templates"
	}
	if s.Want.Size() == s.Got.Set.Replicas {
		return "other members are wanted than the StatefulSet has"
	}
	return fmt.Sprintf("%d members are wanted, and the StatefulSet has %d", s.Want.Size(), s.Got.Set.Replicas)
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

// SpareStranded returns why the spare members of components could not leave at the end, before the spare members are
// added. Without an answer to that, a run would move all regions, and stop before its last step.
func SpareStranded(profiles []Profile, w desired.State, s state.Snapshot, kinds []topology.Kind) []Gate {
	var gates []Gate
	for _, d := range decisionsOf(profiles, &Policy{}, &w, &s) {
		if !slices.Contains(kinds, d.Want.Kind) {
			continue
		}
		for _, g := range d.claimsDeleted("whenScaled", d.Got.Set.DeletesWhenScaled).gates {
			g.Observed += ", so that the spare member could not leave again"
			gates = append(gates, g)
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

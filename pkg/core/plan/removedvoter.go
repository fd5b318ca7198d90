package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// removedFromPD reports whether a voter does not serve because it was removed from PD. Such a member needs new data.
// Three things must be true: PD answers and does not list the voter; the voter has run; and there is one more sign.
// One sign is that another member serves with the same template, so that the template is not at fault. The other sign
// is that a claim of the voter has a label with its id in PD. The answer is false for a member whose claim is being
// deleted, because its next pod gets new data anyway. The answer is false for a member with data of another cluster
// too, because this PD has never listed that member.
func (sc Scope) removedFromPD(p Profile, m state.Member) bool {
	return p.Kind.Data() == topology.Raft && m.Database.Presence == state.Absent && m.Pod != nil && m.Pod.Ran && claimBeingDeleted(m) == "" &&
		!sc.OfOtherCluster(m) && (sc.revisionServes(m) || wasKnown(p, m))
}

// OfOtherCluster reports whether a claim of a member is labelled with the id of another cluster.
// The cluster of the PD that answers has a different id.
func (sc Scope) OfOtherCluster(m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return sc.All.PD.OfOtherCluster(c.Identity.Labels) })
}

// blocksRollout reports whether a partition reaches another member, which needs the update
// revision, only after this one. A member that cannot serve loses nothing by a restart.
// Without this rule the two would wait for each other: this one gets new data only when
// all others serve.
func (sc Scope) blocksRollout(p Profile, m state.Member) bool {
	return slices.ContainsFunc(sc.Got.BelowReplicas(), func(o state.Member) bool {
		return o.Ordinal < m.Ordinal && sc.Got.Outdated(o) && sc.downOrNoQuorum(p, o) && sc.mayHelp(p, o)
	})
}

// wasKnown reports whether upkeep has labelled a claim of a member with its id in the database. A
// new claim has no such label before its member has joined. So a member whose template fails is not
// given new data again and again.
func wasKnown(p Profile, m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return c.Identity.Labels[p.IDLabel] != "" })
}

// revisionServes reports whether another member serves with the revision of a member's
// pod.
func (sc Scope) revisionServes(m state.Member) bool {
	for _, o := range sc.Got.BelowReplicas() {
		if o.Ordinal != m.Ordinal && o.Up() && !sc.loops(o) && o.Pod.Revision == m.Pod.Revision {
			return true
		}
	}
	return false
}

// Loops reports whether a member's process crashes again and again. It cannot be counted on even
// while it serves.
func (sc Scope) Loops(m state.Member) bool { return sc.loops(m) }

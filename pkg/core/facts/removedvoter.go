package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// RemovedFromPD reports whether a voter does not serve because it was removed from PD. Such a member needs new data.
// Three things must be true. PD answers and does not list the voter. The voter has run, or no node can use its volume. And
// there is one more sign.
// One sign is that another member serves with the same template, so that the template is not at fault. The other sign
// is that a claim of the voter has a label with its id in PD. The answer is false for a member whose claim is being
// deleted, because its next pod gets new data anyway. The answer is false for a member with data of another cluster
// too, because this PD has never listed that member.
func (c Component) RemovedFromPD(m state.Member) bool {
	return c.Want.Kind.Data() == topology.Raft && m.Database.Presence == state.Absent && m.Pod != nil && (m.Pod.Ran || m.LacksVolume()) && m.ClaimBeingDeleted() == "" &&
		!c.OfOtherCluster(m) && (c.revisionServes(m) || m.WasKnown())
}

// OfOtherCluster reports whether a claim of a member is labelled with the id of another cluster.
// The cluster of the PD that answers has a different id.
func (c Component) OfOtherCluster(m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(claim state.Claim) bool { return c.All.PD.OfOtherCluster(claim.Identity.Labels) })
}

// revisionServes reports whether another member serves with the revision of a member's
// pod.
func (c Component) revisionServes(m state.Member) bool {
	for _, o := range c.Got.InSet() {
		if o.Ordinal != m.Ordinal && o.Up() && !c.Loops(o) && o.Pod.Revision == m.Pod.Revision {
			return true
		}
	}
	return false
}

package state

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What may become of a member: whether the database counts on the member, and whether the member or its data is to go.

// RemovalIrreversible reports whether the removal of a member can no longer be cancelled. Either
// the store is a tombstone, or PD has forgotten the member after the claims were marked. With the
// same data the member can never serve again.
func (m Member) RemovalIrreversible() bool {
	return m.Database.Removed() ||
		m.Database.Presence == Absent && m.Marked()
}

// ClaimBeingDeleted returns a claim that is being deleted while the member's pod uses it,
// "" when there is none.
func (m Member) ClaimBeingDeleted() string {
	for _, c := range m.Claims {
		if c.Terminating && slices.Contains(m.Pod.Claims, c.Name) {
			return c.Name
		}
	}
	return ""
}

// DataBeingDeleted reports whether the database counts on the member's data, as far as known, while
// its claims are being deleted. The member serves, but only until its pod is deleted for whatever
// reason. Then a copy of its data is lost. PD counts for ever on a member without data, and accepts
// no new member in its place. This happens when a voter joins while it is being recreated, or when
// the claim of a member that serves is deleted by hand.
func (m Member) DataBeingDeleted() bool {
	return m.Kind.Data() != topology.None && m.Pod != nil && m.Database.Presence != Absent &&
		!m.Database.Removed() && m.ClaimBeingDeleted() != ""
}

// EndedSince returns since when the pod of a member is known to have ended. Kubernetes does not write when a phase
// began: a pod may have been NotReady for hours before.
func (m Member) EndedSince() time.Time {
	if m.Ended.After(m.Pod.Made) {
		return m.Ended
	}
	return m.Pod.Made
}

// IsDown reports whether one observation says that a member does not serve. That is no
// proof. A member that could not be asked is not down, and neither is a store that serves
// while its regions leave it.
func (m Member) IsDown() bool {
	switch {
	case m.Up():
		return false
	case m.Pod == nil || !m.Pod.Ready:
		return true
	}
	return m.Database.Presence != Unknown && m.Database.State != StoreOffline
}

// LosesClaim reports whether a claim of a member is being deleted. No pod gets it again.
func (m Member) LosesClaim() bool {
	return slices.ContainsFunc(m.Claims, func(c Claim) bool { return c.Terminating })
}

// CountedOn reports whether the database counts on the member.
func (m Member) CountedOn() bool {
	return m.Database.Presence == Present && !m.Database.Removed()
}

// WasKnown reports whether upkeep has labelled a claim of a member with its id in the database. A
// new claim has no such label before its member has joined. So a member whose template fails is not
// given new data again and again.
func (m Member) WasKnown() bool {
	return slices.ContainsFunc(m.Claims, func(c Claim) bool { return c.Identity.Labels[m.Kind.IDLabel()] != "" })
}

// HasClaimOf reports whether a member has one of the claims with some UIDs.
func (m Member) HasClaimOf(uids []string) bool {
	return slices.ContainsFunc(m.Claims, func(c Claim) bool { return slices.Contains(uids, c.UID) })
}

// ClaimUIDs returns the UIDs of the claims of a member.
func (m Member) ClaimUIDs() []string {
	all := make([]string, 0, len(m.Claims))
	for _, c := range m.Claims {
		all = append(all, c.UID)
	}
	return all
}

// MarkedClaims returns the claims of a member that a scale-in has marked.
func (m Member) MarkedClaims() []Claim {
	var marked []Claim
	for _, c := range m.Claims {
		if c.Marked {
			marked = append(marked, c)
		}
	}
	return marked
}

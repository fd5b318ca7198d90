package topology

import "time"

// Failure is the record of a member that a failover has given up for now. It is kept in the
// TidbCluster's status, where an operator keeps its own, so that each can continue what the other
// has begun.
type Failure struct {
	Member  string   // the pod's name
	Key     string   // of the record, among the records of its component
	ID      uint64   // of the PD member or the store, 0 for TiDB
	Claims  []string // UIDs of the claims that the member had
	Created time.Time
	// Discarded: the member's data is given up for good (hostDown).
	Discarded bool
	// Deleted: the database has removed the member, and its claims and pod
	// were deleted (memberDeleted, storeDeleted).
	Deleted bool
}

// Failure returns the record of a member, given its pod's name.
func (g Group) Failure(member string) (Failure, bool) {
	for _, f := range g.Failures {
		if f.Member == member {
			return f, true
		}
	}
	return Failure{}, false
}

// Size returns the wanted number of members. These are the members that the user asks for, and one
// more for each that is replaced. A PD member is replaced only after PD has removed it, because
// before that another voter would make the loss of the quorum more likely.
func (g Group) Size() int {
	if len(g.Failures) == 0 {
		return g.Replicas
	}
	n, voters := g.Replicas, g.Kind.Data() == Raft
	for _, f := range g.Failures {
		if f.Deleted || !voters {
			n++
		}
	}
	return n
}

// Ordinals returns the ordinals of the wanted members.
func (g Group) Ordinals() Ordinals { return Ordinals{Start: g.Start, Count: g.Size(), Slots: g.Slots} }

// Has reports whether a member of an ordinal is wanted.
func (g Group) Has(ordinal int) bool { return g.Ordinals().Has(ordinal) }

// InSpec reports whether the user asks for a member of an ordinal. Other wanted members replace members that were lost.
func (g Group) InSpec(ordinal int) bool { return g.Ordinals().Resized(g.Replicas).Has(ordinal) }

package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// CanBeReclaimed reports whether the member is not wanted, nothing of the member runs, and the database
// has removed the member for good. The mark of a claim alone is no proof, because the mark stays
// after a scale-in that was cancelled, until the member serves again. That PD does not list the
// member is no proof either, because the data may be of another cluster.
func (c Component) CanBeReclaimed(m state.Member) bool {
	if c.Kept(m) || m.Pod != nil {
		return false
	}
	return c.Want.Kind.Data() == topology.None || !c.OfOtherCluster(m) && (m.Database.Presence == state.Absent || m.Database.Removed())
}

// MustReplaceData reports whether a member whose data is being deleted is to be removed from PD
// now. Then it is recreated with new data. A member that serves, and a store that is down, stay
// until the members that take over their data are there. Without these members the data has no
// other place. A voter that is down does not wait: PD accepts no new member as long as it lists
// that voter.
func (c Component) MustReplaceData(m state.Member) bool {
	return m.DataBeingDeleted() && c.Kept(m) && m.Database.Presence == state.Present &&
		(!m.Up() && c.Want.Kind.Data() == topology.Raft || len(c.MembersToAdd(1)) == 0)
}

// CannotComeBack reports whether the member's process can do nothing to serve again. A tombstone
// stays one. A member that PD does not list may be about to join for the first time. Its claims
// must not be deleted while it does. A process is not about to join if the
// process has run for long, or crashes, while all others serve. The same holds for a process whose pod waits for a volume
// that no node can use. Nor is a member that a user has named, if its claim has the id of a member that PD has removed.
// PD never takes such data again. A person may have removed a tombstone from PD's list.
func (c Component) CannotComeBack(m state.Member) bool {
	switch {
	case m.Database.Removed():
		return true
	case !m.RemovalIrreversible():
		return false
	case c.Want.Replaces(m) && m.WasKnown():
		return len(c.StayersMissing(m)) == 0
	case c.Want.Kind.Data() != topology.Raft || !m.Pod.Ran && !m.LacksVolume():
		return false
	}
	running := !m.Pod.Started.IsZero()
	return (!running || c.All.At.Sub(m.Pod.Started) >= Registering) && len(c.StayersMissing(m)) == 0
}

// StoreForgotten reports whether only a scale-in followed by a scale-out helps the member. That is
// possible for the highest ordinal only. PD does not list the store any more, so the store may
// register just when its claims are deleted.
func (c Component) StoreForgotten(m state.Member) bool {
	return c.Want.Kind.Data() == topology.Store && m.RemovalIrreversible() && !m.Database.Removed()
}

// ComesBack reports whether only the pod of the member was taken away, and the member was not
// removed. Such a member has kept its data, so that no voter is added. PD may need the member for a quorum,
// and PD cannot be asked then. Claims of a removed member would be marked.
func (c Component) ComesBack(m state.Member) bool {
	if len(m.Claims) == 0 || len(m.MarkedClaims()) > 0 {
		return false
	}
	return m.CountedOn() || c.Want.Kind.Data() == topology.Raft && m.Database.Presence == state.Unknown
}

// CountedWithData reports whether the database counts on a member whose data is there. No region moves off a store
// without its pod that has the only copy, and PD has no quorum without some voters. With the mark of a removal on its
// claim, a store has joined at the same time. A marked voter may have been removed, and PD does not take it again.
func (c Component) CountedWithData(m state.Member) bool {
	joined := c.Want.Kind.Data() != topology.Raft && c.MarkedButCounted(m)
	return m.CountedOn() && !m.LosesClaim() && (c.ComesBack(m) || joined)
}

// Surplus returns the members that are to be removed, in the order in which they leave. These are members of the
// StatefulSet that are not wanted, the highest ordinal first. Where a StatefulSet can have slots, members with which
// nothing is lost come before these. Others may wait for such a member, which may never serve: members that are to be
// added, and pods above it with OrderedReady. A store with the highest ordinal that only a scale-out can bring back
// leaves as well.
func (c Component) Surplus() []state.Member {
	var first, surplus []state.Member
	for _, n := range slices.Backward(c.Got.Set.Ordinals().All()) {
		if c.Want.Has(n) {
			continue
		}
		if m := c.MemberAt(n); c.Cluster.Advanced && c.NothingLost(m) {
			first = append(first, m)
		} else {
			surplus = append(surplus, m)
		}
	}
	surplus = append(first, surplus...)
	if last, ok := c.Last(); ok && len(surplus) == 0 && c.StoreForgotten(last) {
		return []state.Member{last}
	}
	return surplus
}

// Last returns the member with the highest ordinal of the StatefulSet, and reports whether there is one.
func (c Component) Last() (state.Member, bool) {
	set := c.Got.Set
	return c.MemberAt(set.Ordinals().End() - 1), set.Replicas > 0
}

// NothingLost reports whether nothing is lost with the member, because the database does not count
// on it. It never joined, or was removed, or keeps no data and does not serve. Nothing is lost either with
// a member that never starts, or with one without a pod whose data was deleted with its claim.
func (c Component) NothingLost(m state.Member) bool {
	switch {
	case c.Want.Kind.Data() == topology.None:
		return c.RestartIsHarmless(m)
	case m.CountedOn() && (c.neverStarts(m) || m.Pod == nil && c.claimGone(m)):
		return true
	}
	return m.Database.Presence == state.Absent || m.Database.Removed()
}

// neverStarts reports whether PD has added a member that has never started, and that is not about to. It has no pod, or
// a pod that has not changed for ten minutes. As long as PD waits for such a member, PD lets no other member join. So
// members that wait to join must not be waited for.
func (c Component) neverStarts(m state.Member) bool {
	d := m.Database
	return d.Unstarted && !d.Healthy && (m.Pod == nil || c.All.At.Sub(c.UnchangedSince(m)) >= TimeToServe)
}

// claimGone reports whether the claim with a member's data is gone. Without such a claim
// template the data is elsewhere, for example on the disk of a node.
func (c Component) claimGone(m state.Member) bool {
	_, claimed := c.Got.Set.Volumes[m.Kind.DataVolume()]
	return claimed && len(m.Claims) == 0
}

// MarkedButCounted reports whether a member's claims are marked while the database counts on it.
// The member joined just when it was removed. Just after a removal, reports that still list it may
// be old.
func (c Component) MarkedButCounted(m state.Member) bool {
	return len(m.Claims) > 0 && !m.NotServing.IsZero() && c.All.At.Sub(m.NotServing) >= Settling
}

// InitialOrdinals returns the ordinals that a StatefulSet is created with. Kubernetes would at once
// delete pods of others, with data or not. A quorum or a region may need members whose data is
// there. So all of these come back, wanted or not, and are scaled in later. Members that have never
// existed are added one by one, unless there is no cluster yet that could be joined. All initial
// members are needed to bootstrap a cluster, wanted or not. A member that was removed comes back only where a
// StatefulSet cannot skip the ordinal. With OrderedReady all members above would wait for it for ever.
func (c Component) InitialOrdinals() topology.Ordinals {
	wanted := c.Want.Ordinals()
	none := wanted.Resized(0)
	var there []int
	for _, m := range c.Got.Members {
		gone := m.Pod == nil || m.Pod.Terminating
		if !gone || c.Want.Kind.Data() != topology.None && c.hasData(m) {
			there = append(there, m.Ordinal)
		}
	}
	founds := len(there) == 0 || c.Want.Kind.Data() == topology.None || c.All.PD.ClusterID == 0
	if c.Cluster.Advanced && !founds {
		return none.Changed(there, nil, wanted.Slots)
	}
	o := none
	var inSlots []int
	for _, n := range there {
		if slices.Contains(o.Slots, n) {
			inSlots = append(inSlots, n)
		} else {
			o = o.Extended(n)
		}
	}
	if founds {
		o = o.Resized(max(o.Count, c.Want.Size()))
	}
	if len(inSlots) == 0 {
		return o
	}
	return o.Changed(inSlots, nil, o.Slots)
}

// hasData reports whether the member has data and has not been removed. While PD cannot be
// asked and voters run, the mark of a claim is no proof of a removal. These voters may have no quorum without the member.
// After a suspension no voter runs, and the marks tell which voters are left.
func (c Component) hasData(m state.Member) bool {
	switch {
	case m.RemovalIrreversible():
		return false
	case m.Database.Presence == state.Unknown && c.Want.Kind.Data() == topology.Raft && c.anyRuns():
		return len(m.Claims) > 0
	}
	return m.CountedOn() || len(m.Claims) > len(m.MarkedClaims())
}

// anyRuns reports whether the process of any member runs, or has run. A voter without a quorum ends again and again.
func (c Component) anyRuns() bool {
	return slices.ContainsFunc(c.Got.Members, func(m state.Member) bool {
		return m.Pod != nil && !m.Pod.Terminating && (m.Pod.Ran || !m.Pod.Started.IsZero())
	})
}

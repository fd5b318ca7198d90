package facts

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// CannotServe reports whether a member with an old revision cannot be expected to serve as it is. A
// restart takes nothing away then, even if others fail with the update revision, perhaps for
// reasons of their own. Either its container is Ready and refuses connections, for long by PD's
// report. Or its pod has a revision that Kubernetes would not create again, and its container has
// long not run, or long crashed again and again.
func (c Component) CannotServe(m state.Member) bool {
	switch {
	case m.Pod == nil:
		return false
	case m.Pod.Ready:
		return c.downForLong(m)
	}
	return m.Pod.Revision != c.Got.Set.CurrentRevision &&
		m.Stopped() && (!m.Pod.Ran || c.Loops(m)) && c.All.At.Sub(c.UnchangedSince(m)) >= TimeToServe
}

// UpdateRevisionServes reports whether a member has served with the update revision for a while. Then other members
// fail with the update revision for another reason. PD, for example, lets no member join while an added member has yet
// to start.
func (c Component) UpdateRevisionServes() bool {
	for _, m := range c.Got.InSet() {
		if !c.Got.Outdated(m) && m.Up() && !c.Loops(m) &&
			!m.Pod.Started.IsZero() && c.All.At.Sub(m.Pod.Started) >= Settling {
			return true
		}
	}
	return false
}

// Failing returns the members, except one, that have the update revision and do not serve. A member that a user has
// named is among them, because nobody knows yet whether the restart helps. A store that runs and is offline does not
// count, because PD takes regions away from an offline store of any revision.
func (c Component) Failing(except state.Member) []state.Member {
	var failing []state.Member
	for _, m := range c.Got.InSet() {
		removed := m.RemovalIrreversible() && m.Pod != nil && m.Pod.Ran // it fails for another reason
		_, queued := c.MemberBefore(m)
		if m.Ordinal != except.Ordinal && !c.Got.Outdated(m) && (!m.Up() || c.Loops(m)) && !removed && !c.runsOffline(m) && !queued {
			failing = append(failing, m)
		}
	}
	return failing
}

// runsOffline reports whether a store is offline, its process has run for a while, and the store is not surely down.
func (c Component) runsOffline(m state.Member) bool {
	p := m.Pod
	return m.Database.State == state.StoreOffline && p != nil && p.Ready && !c.Loops(m) && !c.DownOrNoQuorum(m) &&
		!p.Started.IsZero() && c.All.At.Sub(p.Started) >= Settling
}

// IdleSince returns since when a voter can hardly have served. A voter that crashes again and again
// may serve in between if it runs for long enough. A restart with a revision that fails elsewhere
// would end that for good.
func (c Component) IdleSince(m state.Member) time.Time {
	if p := m.Pod; p.Last.Ended.Sub(p.Last.Started) > Proving {
		return Later(p.Started, p.Since)
	}
	return c.UnchangedSince(m)
}

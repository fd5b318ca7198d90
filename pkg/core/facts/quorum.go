package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// MustServe reports whether a member has to serve although no gate names it. Without a lasting quorum, members that are
// to leave have to vote again. A voter that follows no leader is in no quorum, although others that cannot be reached
// from here may be one. A store that leaves may hold regions that only other leaving stores have, which do not serve
// either. No other store gets these regions before such a store runs.
func (c Component) MustServe(m state.Member) bool {
	if c.Want.Kind.Data() == topology.Raft {
		return c.Unled(m) || c.pdUnreachable() || c.quorumNeedsTheLast()
	}
	return c.Want.Kind.Data() != topology.None && !c.Kept(m) && m.CountedOn()
}

// pdUnreachable reports whether no member of PD answers and no member of PD here is Ready.
// They crash so fast that none of them can be asked whether there is a leader.
func (c Component) pdUnreachable() bool {
	for _, m := range c.Got.InSet() {
		if m.Pod != nil && m.Pod.Ready {
			return false
		}
	}
	return c.All.PD.Problem != "" && len(c.All.PD.Unreached) == 0
}

// quorumNeedsTheLast reports whether the last member of PD is to be removed although PD has no
// quorum without it. Members that crash again and again do not count for that quorum.
func (c Component) quorumNeedsTheLast() bool {
	pd, surplus := c.All.PD, c.Surplus()
	if len(surplus) == 0 {
		return false
	}
	lasting := pd.Healthy
	for _, m := range c.Got.Members {
		if m.Database.Healthy && (m.Ordinal == surplus[0].Ordinal || c.Loops(m)) {
			lasting--
		}
	}
	return pd.Known() && !pd.QuorumAfterRemoval(lasting)
}

// VotingMembers returns the members that have a vote. Members that were given up and removed from PD have
// none.
func (c Component) VotingMembers(members []state.Member) []state.Member {
	var voters []state.Member
	for _, m := range members {
		if f, given := c.Want.Failure(m.Name); !given || !f.Deleted || m.Database.Presence != state.Absent || c.HoldsUp(m) {
			voters = append(voters, m)
		}
	}
	return voters
}

// PDNeeds reports whether PD has no quorum without some of its members that have no pods. A
// StatefulSet cannot skip an ordinal, so all members below such a member come back first, whatever
// state their data is in.
func (c Component) PDNeeds(above []state.Member) bool {
	if c.Want.Kind.Data() != topology.Raft {
		return false
	}
	pd := c.All.PD
	tried, running := c.allTried()
	unheard := tried && !running && pd.Problem != "" && len(pd.Unreached) == 0 && pd.ClusterID != 0
	return slices.ContainsFunc(above, func(m state.Member) bool {
		switch {
		case len(m.Claims) == 0 || m.Database.Presence != state.Unknown:
			return false
		case pd.Leaderless:
			return tried || c.ComesBack(m)
		}
		return unheard
	})
}

// allTried reports whether all members here have had time to start, and whether any of them runs.
// If PD then has no leader, or no member that runs can be asked, some that it counts on must be
// elsewhere. Members that crash again and again, perhaps because they have no data, have had that
// time.
func (c Component) allTried() (all, running bool) {
	for _, m := range c.Got.InSet() {
		switch {
		case c.Loops(m):
		case m.Pod == nil || m.Pod.Started.IsZero() || c.All.At.Sub(m.Pod.Started) < Settling:
			return false, false
		default:
			running = true
		}
	}
	return true, running
}

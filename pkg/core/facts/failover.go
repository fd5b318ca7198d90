package facts

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// AddedInVain reports whether a member was added by a failover, and the member that was given up serves again. A rollout
// waits for the added member without a need. Where recovery is asked for, the record of the failover is gone by then.
func (c Component) AddedInVain(m state.Member) bool {
	return !c.Want.InSpec(m.Ordinal) && slices.ContainsFunc(c.Want.Failures, func(f topology.Failure) bool {
		back, there := c.Got.Member(f.Member)
		return there && back.Up() && !c.Loops(back)
	})
}

// ForgottenUnmarked reports whether PD has removed a member whose claims are not marked
// yet.
func (c Component) ForgottenUnmarked(f topology.Failure, m state.Member) bool {
	return m.Database.Presence != state.Present && c.HasUnmarked(f, m)
}

// HasUnmarked reports whether a claim that the member had when it was given up is not
// marked yet.
func (c Component) HasUnmarked(f topology.Failure, m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return !c.Marked && slices.Contains(f.Claims, c.UID) })
}

// FailoversUsedUp reports whether no more members may be given up. A voter that PD has removed gets new data
// all the same. Otherwise it would keep the voters that were given up from joining again.
func (c Component) FailoversUsedUp() bool { return len(c.Want.Failures) >= c.Want.MaxFailures }

// AllReplaced reports whether all missing members were given up and replaced. As many members serve
// then as the user asks for. A member that crashes again and again does not count, even if it runs
// now.
func (c Component) AllReplaced() bool {
	if c.Want.Recover || !c.Got.Set.Completed() {
		return false
	}
	serve := 0
	for _, m := range c.Got.InSet() {
		if m.Up() && !c.Loops(m) {
			serve++
			continue
		}
		if f, given := c.Want.Failure(m.Name); !given || f.Discarded {
			return false
		}
	}
	return serve >= c.Want.Replicas
}

// LostSince returns since when all sources agree that a member is down, zero when they do not. For a server Kubernetes is
// enough, because a server more takes nothing away.
func (c Component) LostSince(m state.Member) time.Time {
	if c.Want.Kind.Data() == topology.None {
		return c.unreadySince(m)
	}
	return c.lastingEvidence(m).Both
}

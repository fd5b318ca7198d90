package facts

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// IsBeyondCanary reports whether a canary keeps a member from getting the update revision. Only the highest
// ordinals get that revision, as many as are asked for. A partition can reach no other members
// first. At least one member is held, also where a scale-in has left no more members than were
// asked for.
func (c Component) IsBeyondCanary(m state.Member) bool {
	return c.Want.Held && c.Want.Ordinals().Resized(max(c.Want.Size()-c.Want.Canary, 1)).Has(m.Ordinal)
}

// Rolling reports whether pods are still to be replaced. A template that another user has written is put back first, so
// that pods which have it are still to be replaced as well.
func (c Component) Rolling() bool {
	if !c.Got.Set.Exists {
		return false
	}
	_, ok := c.HighestOutdated()
	return ok || c.Want.PutBack.Drift != desired.None || c.Want.Set.Drift != desired.None || !c.Got.Set.Observed
}

// Candidate returns the member to restart next. A rollout comes first, in the order of its batches, unless a canary
// holds the member. Then come the members that a user has named. Of these, a store whose leaders have begun to leave
// comes first. Otherwise a member that is named later would make a second store without leaders. A member that is down and
// gets new volumes comes before the others, because these wait for that member. With OnDelete named members come first,
// since only a person restarts the others.
func (c Component) Candidate() (state.Member, bool) {
	inOrder, ok := c.nextInRollout()
	if ok && !c.Got.Set.Manual {
		return inOrder, true
	}
	begun := func(m state.Member) bool {
		_, leave := c.All.OpenEviction(m.Database.ID)
		return leave && c.RestartsOutsideRollout(m)
	}
	down := func(m state.Member) bool {
		return c.RestartsWithNewVolumes(m) && m.IsDown() && c.RestartsOutsideRollout(m)
	}
	for _, is := range []func(state.Member) bool{begun, down, c.RestartsOutsideRollout} {
		if m, ok := c.Highest(is); ok {
			return m, true
		}
	}
	return inOrder, ok
}

// The predicates about a restart, each of which needs more than the one before. Group.Outdated: the pod has an old
// revision. IsToRestart: or a user has named the member, also for new volumes. WaitsForRestart: and no canary holds the
// member. Candidate: and the member is the next one. Whether the next member may be restarted now is up to package plan.

// rolloutRestarts reports whether a rollout restarts a member: the pod has an old revision, and no canary holds the
// member. A member that needs other volumes is replaced instead.
func (c Component) rolloutRestarts(m state.Member) bool {
	return c.Got.Outdated(m) && !c.IsBeyondCanary(m) && !c.KeepsOldVolumes(m)
}

// WaitsForRestart reports whether a member is restarted when the member is the next one, by a rollout or outside of
// one.
func (c Component) WaitsForRestart(m state.Member) bool {
	return m.Name != "" && (c.rolloutRestarts(m) || c.RestartsOutsideRollout(m))
}

// HighestOutdated returns the member with the highest ordinal that does not have the update revision.
func (c Component) HighestOutdated() (state.Member, bool) { return c.Highest(c.Got.Outdated) }

// Highest returns the member with the highest ordinal below the replicas for which is returns true.
func (c Component) Highest(is func(state.Member) bool) (state.Member, bool) {
	set := c.Got.Set.Ordinals()
	for i := range slices.Backward(c.Got.Members) {
		if m := &c.Got.Members[i]; set.Has(m.Ordinal) && is(*m) {
			return *m, true
		}
	}
	return state.Member{}, false
}

// IsToRestart reports whether a member's pod is to be replaced. Either the pod does not have the update revision, or a
// user has named the member.
func (c Component) IsToRestart(m state.Member) bool { return c.Got.Outdated(m) || c.named(m) }

// named reports whether a user has named a member, to restart it or to give it new volumes with a restart.
func (c Component) named(m state.Member) bool { return c.Want.Named(m) || c.RestartsWithNewVolumes(m) }

// LeftToUser reports whether, with OnDelete, the user is to delete the pod of a member that is to be replaced. A user
// who names a member has asked for its restart.
func (c Component) LeftToUser(m state.Member) bool { return c.Got.Set.Manual && !c.named(m) }

// RestartsOutsideRollout reports whether a member that a user has named is restarted apart from a rollout. Its pod is
// deleted then, and the new pod has the update revision. A rollout that has yet to reach the member restarts it anyway. A
// member that needs other volumes is replaced instead.
func (c Component) RestartsOutsideRollout(m state.Member) bool {
	set := c.Got.Set
	return c.named(m) && (set.Manual || !c.Got.Outdated(m)) && set.Next(m.Ordinal) == set.UpdateRevision && !c.KeepsOldVolumes(m)
}

// IsDrifted reports whether the configuration or the pod template is to be written.
func (c Component) IsDrifted() bool {
	written := func(o desired.Object) bool { return o.Drift != desired.None }
	return written(c.Want.Set) || slices.ContainsFunc(c.Want.Config, written)
}

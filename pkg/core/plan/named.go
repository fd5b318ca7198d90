package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"

// IsToRestart reports whether a member's pod is to be replaced. Either the pod does not have the update revision, or a
// user has named the member.
func (sc Scope) IsToRestart(m state.Member) bool { return sc.Got.Outdated(m) || sc.Want.Named(m) }

// LeftToUser reports whether, with OnDelete, the user is to delete the pod of a member that is to be replaced. A user
// who names a member has asked for its restart.
func (sc Scope) LeftToUser(m state.Member) bool { return sc.Got.Set.Manual && !sc.Want.Named(m) }

// restartsOutsideRollout reports whether a member that a user has named is restarted apart from a rollout. Its pod is
// deleted then, and the new pod has the update revision. A rollout that has yet to reach the member restarts it anyway.
func (sc Scope) restartsOutsideRollout(m state.Member) bool {
	set := sc.Got.Set
	return sc.Want.Named(m) && (set.Manual || !sc.Got.Outdated(m)) && set.Next(m.Ordinal) == set.UpdateRevision
}

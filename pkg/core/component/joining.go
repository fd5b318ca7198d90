package component

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// notJoining holds before a removal. A process that runs but is not in PD may be about to register,
// with or without being Ready. If its pod were removed just then, PD would keep a member that never
// serves. The claims of the pod could belong to a member that PD counts on.
var notJoining = plan.Hook{
	Reason: plan.MemberJoined, Want: "registered in PD",
	Done: func(_ plan.Scope, m state.Member) bool {
		return m.Database.Presence == state.Present ||
			m.Database.Presence == state.Absent && (m.Pod == nil || m.Pod.Started.IsZero())
	},
	Since: func(_ plan.Scope, m state.Member) time.Time {
		if m.Database.Presence == state.Unknown {
			return time.Time{} // never passes by time alone
		}
		return m.Pod.Started
	},
	Timeout: func(plan.Scope) (time.Duration, bool) { return facts.Registering, true },
}

// quorumIfItJoins holds before the pod of a member that is not in PD is removed. PD adds a member before the member runs
// with its data, so that the pod may become a voter at any moment. PD needs a quorum also with a voter that never runs.
// A PD with one member has none then, and no member could ever be added or removed again. The claims of a member that
// was removed from PD are marked, and it does not join again.
var quorumIfItJoins = plan.Hook{
	Reason: plan.MemberJoined, Want: "registered in PD",
	Because: "PD would have no quorum if the member joined just when its pod is removed",
	Done: func(sc plan.Scope, m state.Member) bool {
		more := state.PD{Members: sc.All.PD.Members + 1, Healthy: sc.All.PD.Healthy}
		return m.Database.Presence != state.Absent || m.Pod == nil || m.Pod.Ended || m.Marked() || more.QuorumWithout(0)
	},
	Since: func(_ plan.Scope, m state.Member) time.Time {
		if m.Pod.Started.IsZero() {
			return m.Pod.Made
		}
		return m.Pod.Started
	},
	Timeout: func(plan.Scope) (time.Duration, bool) { return facts.Registering, true },
}

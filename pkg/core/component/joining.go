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

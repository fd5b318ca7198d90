package reconcile

import (
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Memory is what is remembered from one turn to the next. No decision about safety depends on it:
// only which of several components comes first, and when the report says that waiting does not
// help.
type Memory struct {
	failed []topology.Kind // components whose last step failed
	waits  plan.Waits
	went   []topology.Kind // components with a step that succeeded in the last turn
	at     time.Time       // of the last turn
	// limited is when PD was last asked to limit how many leaders move. A process that does not know it asks at once.
	limited time.Time
	// held is when PD was last asked to move no regions for balance.
	held time.Time
	// ddlAsked is the rollout of TiDB for which a pause of DDL was asked for, whatever became of that; "" for none.
	ddlAsked string
}

// begin starts the turn in which p was decided.
func (m *Memory) begin(p plan.Plan, at time.Time) {
	if m != nil {
		m.waits, m.went, m.at = m.waits.After(p, at), nil, at
	}
}

// note notes how a step ended. A step that fails because it was outdated does not count, because the next step may
// succeed.
func (m *Memory) note(next step.Step, err error) {
	var outdated Outdated
	k, _ := next.Target()
	if m == nil || errors.As(err, &outdated) && outdated.Stale() {
		return
	}
	switch s := next.(type) {
	case step.BeginDDLPause:
		m.ddlAsked = s.Revision
	case step.EndDDLPause: // a rollout that goes on after that may ask again
		m.ddlAsked = ""
	}
	m.failed = slices.DeleteFunc(m.failed, func(o topology.Kind) bool { return o == k })
	if err != nil {
		m.failed = append(m.failed, k)
		return
	}
	m.went = append(m.went, k)
	switch next.(type) {
	case step.LimitLeaderMoves:
		m.limited = m.at
	case step.HoldRegions:
		m.held = m.at
	}
}

// withMemory returns the policy with what is remembered. That is the components whose last step failed, the component
// that failed longest ago first, and what was waited for.
func (m *Memory) withMemory(p plan.Policy) plan.Policy {
	if m != nil {
		p.Later, p.Waits, p.Limited, p.Held, p.DDLAsked = slices.Clone(m.failed), m.waits, m.limited, m.held, m.ddlAsked
	}
	return p
}

// goesOn reports whether a component without a failed step makes progress. Then a step of the component succeeded in
// the last turn, or the component waits for something that may still come. A run must not end then, since the next
// steps of that component would not be taken. The run still ends at some time: each wait ends or becomes Blocked. A
// step that fails for the cluster as a whole holds everything back.
func (m *Memory) goesOn(p plan.Plan) bool {
	sound := func(k topology.Kind) bool { return !slices.Contains(m.failed, k) }
	return sound("") && (slices.ContainsFunc(m.went, sound) ||
		slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.Opens() && sound(g.Component) }))
}

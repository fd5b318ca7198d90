package reconcile

import (
	"errors"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Memory is what is remembered from one turn to the next. No decision about what is
// safe depends on it, only which of several components comes next, and when a person
// is told that waiting does not help.
type Memory struct {
	failed []topology.Kind // whose last step failed
	waits  plan.Waits
	went   []topology.Kind // whose steps of the last turn succeeded
}

// begin begins the steps of a turn in which p was decided.
func (m *Memory) begin(p plan.Plan, at time.Time) {
	if m != nil {
		m.waits, m.went = m.waits.After(p, at), nil
	}
}

// note notes how a step of a component ended. A step that came too late says
// nothing of the next one.
func (m *Memory) note(k topology.Kind, err error) {
	var outdated Outdated
	if m == nil || errors.As(err, &outdated) && outdated.Stale() {
		return
	}
	m.failed = slices.DeleteFunc(m.failed, func(o topology.Kind) bool { return o == k })
	if err != nil {
		m.failed = append(m.failed, k)
	} else {
		m.went = append(m.went, k)
	}
}

// recall gives a policy what is remembered: the components whose last step failed, the
// one that failed longest ago first, and what was waited for.
func (m *Memory) recall(p plan.Policy) plan.Policy {
	if m != nil {
		p.Later, p.Waits = slices.Clone(m.failed), m.waits
	}
	return p
}

// goesOn reports whether something goes on beside what fails: a component of which no
// step failed in the last turn has had one that succeeded, or waits for something that
// may still come. A run must not end then, since nobody would do what comes next for
// that one. It does not go on for ever so: each wait ends, or says that waiting does
// not help. What fails for the cluster as a whole holds everything back.
func (m *Memory) goesOn(p plan.Plan) bool {
	sound := func(k topology.Kind) bool { return !slices.Contains(m.failed, k) }
	return sound("") && (slices.ContainsFunc(m.went, sound) ||
		slices.ContainsFunc(p.Gates, func(g plan.Gate) bool { return g.Opens() && sound(g.Component) }))
}

package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// condition is something that must hold before something else is done with a member. Conditions stand in ordered lists.
// The engine goes through a list up to the first condition that does not hold, which decides. Why shows the whole list.
type condition struct {
	want    string  // what must hold, for the user
	because string  // why the condition is there, for the user
	by      Changer // who can change what does not hold, where no gate says so
	// unmet returns what is observed while the condition does not hold, "" when the condition holds. For conditions that
	// only decide whether something is done.
	unmet func(*subject) string
	// since and until return how long what is observed lasts, zero where that is not known. help returns what a person
	// can do while the condition does not hold. All three are nil where unmet is not set, because a gate says the same.
	since, until func(*subject) time.Time
	help         func(*subject) remedy.Remedy
	// waits returns the steps to take and the gates to wait for while the condition does not hold.
	waits func(*subject) verdict
	// goals are goals of the component, each of which is a condition.
	goals func(*Profile) []Hook
	// advice returns what a person can do about a gate of a goal; nil where the remedy of the gate says enough.
	advice func(*subject, Gate) remedy.Remedy
}

// subject is the member that conditions are about, within a decision on its component.
type subject struct {
	*decision
	// member is the member to restart next, where the engine asks about a rollout. Its name is "" where there is none.
	member state.Member
	// due is WaitsForRestart of the member.
	due bool
	// lost is what is known of a member that is down.
	lost LostMember
}

// about returns a member as the subject of conditions.
func (d *decision) about(m state.Member) *subject {
	return &subject{decision: d, member: m, due: d.WaitsForRestart(m)}
}

// firstUnmet returns what to do and what to wait for because of the first condition that does not hold. The verdict is
// empty but for notes when all conditions hold.
func firstUnmet(conditions []condition, s *subject) verdict {
	var notes []string
	for i := range conditions {
		v := conditions[i].ask(s)
		if !v.idle() {
			return v
		}
		notes = append(notes, v.notes...)
	}
	return verdict{notes: notes}
}

// ask returns what to do and what to wait for while the condition does not hold.
func (c *condition) ask(s *subject) verdict {
	if c.goals != nil {
		return s.pursue(c.goals(&s.profile), s.member)
	}
	return c.waits(s)
}

// remedyOf returns what a person can do about a gate of a goal.
func (c *condition) remedyOf(s *subject, g Gate) remedy.Remedy {
	if c.advice == nil {
		return g.Remedy
	}
	return c.advice(s, g)
}

// objection returns what is observed of the first condition that does not hold, "" when all of them hold.
func objection(conditions []condition, s *subject) string {
	for i := range conditions {
		if why := conditions[i].objection(s); why != "" {
			return why
		}
	}
	return ""
}

// objection returns what is observed while the condition does not hold, "" when the condition holds.
func (c *condition) objection(s *subject) string {
	if c.unmet != nil {
		return c.unmet(s)
	}
	return c.waits(s).text()
}

// textIf returns a text if something is true, and "" otherwise. A condition that does not hold has a text.
func textIf(is bool, observed string) string {
	if is {
		return observed
	}
	return ""
}

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Topic is something that may be done with a member.
type Topic string

// The topics, in the order in which Why answers them.
const (
	AnyChange  Topic = "change" // what each change of the member's component needs
	ByRollout  Topic = "restart"
	ByRepair   Topic = "recovery"
	ByScaleIn  Topic = "removal"
	ByFailover Topic = "failover"
	// ByReplacement is a topic only of a member for which a user has asked for new volumes.
	ByReplacement Topic = "replacement"
)

// Question is something that may be done with a member, with all conditions for that in the order in which they are
// asked.
type Question struct {
	Topic   Topic
	Answers []Answer
}

// Open returns the answers of the conditions that do not hold.
func (q Question) Open() []Answer {
	return slices.DeleteFunc(slices.Clone(q.Answers), func(a Answer) bool { return a.Met })
}

// add adds answers. Goals are pursued when all conditions before them hold, and a person who is asked for something is
// asked last. Until then nobody has to do anything, so that such answers come without a remedy.
func (q *Question) add(answers []Answer, last bool) {
	reached := len(q.Open()) == 0
	for _, a := range answers {
		if last && !reached {
			a.Remedy = nil
		}
		q.Answers = append(q.Answers, a)
	}
}

// Answer is what is known of one condition.
type Answer struct {
	Want     string // what must hold
	Because  string // why the condition is there
	Met      bool
	Observed string // what is observed instead, "" when the condition holds
	Reason   Reason // the reason of the gate that a run shows, "" where a run shows none
	// Since is when the wait began, and Deadline when the wait ends by itself; zero where that is not known.
	Since, Deadline time.Time
	By              Changer // who can change what does not hold; "" when the condition holds
	Remedy          remedy.Remedy
}

// answer is a topic with the lists of conditions that the engine goes through for it.
type answer struct {
	topic Topic
	lists [][]condition
}

// topics returns the topics in order, with what must hold for the cluster as a whole. For a member that serves, the
// lists about repair and failover are shorter. A restart that takes nothing away need not wait for other members. A
// replacement is answered where a user has asked for one. A member without data is replaced by a restart.
func (s *subject) topics(cluster []condition) []answer {
	repair, failover := [][]condition{beforeRepair, {isWritten}}, [][]condition{beforeFailover}
	if !s.member.Up() {
		repair = append(repair, worthTrying())
		failover = append(failover, sparing, []condition{downLongEnough})
		if !s.RestartIsHarmless(s.member) {
			repair = append(repair, beforeHarmfulRepair, beforeRestart)
		}
	}
	restart := [][]condition{{isProvided}, changes, {isToRestart, comesNext}, beforeRollout, beforeRestart}
	all := []answer{
		{AnyChange, [][]condition{beforeAnything, cluster, beforePhases, beforeTakingAway}},
		{ByRollout, restart},
		{ByRepair, repair},
		{ByScaleIn, [][]condition{beforeScaleIn, {othersStay, leftDatabase}}},
		{ByFailover, failover},
	}
	switch {
	case !s.Want.Replaces(s.member):
	case s.Want.Kind.Data() == topology.None:
		all = append(all, answer{ByReplacement, append([][]condition{{templatesWritten}}, restart...)})
	default:
		all = append(all, answer{ByReplacement, [][]condition{{isProvided, obsoleteEnded}, beforeReplacement, {othersStay, leftForReplacement}}})
	}
	return all
}

// Why returns what keeps a member from being restarted, repaired, removed, given up and replaced, or what does not. The
// conditions are those that Decide goes through, and Why goes on after a condition that does not hold. There is no
// answer about a member that the cluster does not have.
func Why(profiles []Profile, policy Policy, w desired.State, s state.Snapshot, member string) []Question {
	decisions := decisionsOf(profiles, &policy, &w, &s)
	for i := range decisions {
		d := &decisions[i]
		m, ok := d.Got.Member(member)
		if !ok {
			continue
		}
		decideComponents(decisions, rolloutOrder(profiles, w.Groups), verdict{})
		about := d.about(m)
		about.lost, _ = d.lostMember(m)
		var questions []Question
		for _, t := range about.topics(beforeComponents(&w, &s)) {
			q := Question{Topic: t.topic}
			for _, list := range t.lists {
				for i := range list {
					q.add(list[i].answers(about), list[i].goals != nil || list[i].help != nil)
				}
			}
			questions = append(questions, q)
		}
		return questions
	}
	return nil
}

// answers returns one answer for a condition that holds. For a condition that does not hold, answers returns an answer
// for each gate, or for the first step where there is no gate.
func (c *condition) answers(s *subject) []Answer {
	base := Answer{Want: c.want, Because: c.because, Met: true}
	switch {
	case c.goals != nil:
		return c.ofGoals(s)
	case c.unmet != nil:
		return []Answer{c.judged(base, s)}
	}
	return c.opened(base, c.waits(s))
}

// judged returns the answer of a condition that has no gate.
func (c *condition) judged(a Answer, s *subject) Answer {
	if c.since != nil {
		a.Since = c.since(s)
	}
	if c.until != nil {
		a.Deadline = c.until(s)
	}
	if a.Observed = c.unmet(s); a.Observed == "" {
		return a
	}
	a.Met, a.By = false, c.by
	if c.help != nil {
		a.Remedy = c.help(s)
	}
	return a
}

// ofGoals returns the answers of goals, each of which is pursued whatever the others are. A goal with a step changes
// what later goals find. They say what is true before that step: a store that is not offline has no regions to move
// away.
func (c *condition) ofGoals(s *subject) []Answer {
	var all []Answer
	after := "" // a goal for which a step is to be taken first
	for _, h := range c.goals(&s.profile) {
		v, met := s.try(h, s.member)
		for i := range v.gates {
			v.gates[i].Remedy = c.remedyOf(s, v.gates[i])
		}
		base := Answer{Want: h.Want, Because: cmp.Or(h.Because, c.because), Met: true}
		switch {
		case !met:
			open := c.opened(base, v)
			if len(v.steps) > 0 {
				after = cmp.Or(after, h.Want)
			}
			if len(v.steps) > 0 && open[0].Since.IsZero() {
				open[0].Observed = notBegun(v)
			}
			all = append(all, open...)
			continue
		case after != "":
			base.Met, base.Observed, base.By = false, "asked after: "+after, ByTool
		case len(v.notes) > 0:
			base.Observed = "left out: " + v.notes[0]
		}
		all = append(all, base)
	}
	return all
}

// notBegun says which step is to be taken for a goal, and how much is left.
func notBegun(v verdict) string {
	text := "not begun; the first step is: " + v.steps[0].String()
	if len(v.gates) > 0 && v.gates[0].Left.Number > 0 {
		text += fmt.Sprintf(" (%d %s)", v.gates[0].Left.Number, v.gates[0].Left.Unit)
	}
	return text
}

// opened returns the answers for a verdict: the condition holds where the verdict is empty.
func (c *condition) opened(base Answer, v verdict) []Answer {
	var all []Answer
	for _, g := range v.gates {
		a := base
		a.Met, a.Observed, a.Reason, a.Since, a.Deadline, a.Remedy = false, g.String(), g.Reason, g.Since, g.Deadline, g.Remedy
		a.By = g.changer(v.steps, c.by)
		all = append(all, a)
	}
	if len(all) > 0 {
		return all
	}
	if len(v.steps) > 0 {
		base.Met, base.Observed, base.By = false, "first: "+v.steps[0].String(), ByTool
	}
	return []Answer{base}
}

package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
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
)

// Question is something that may be done with a member, with all conditions for that in the order in which they are asked.
type Question struct {
	Topic   Topic
	Answers []Answer
}

// Open returns the answers of the conditions that do not hold.
func (q Question) Open() []Answer {
	return slices.DeleteFunc(slices.Clone(q.Answers), func(a Answer) bool { return a.Met })
}

// add adds answers. Goals are pursued when all conditions before them hold. Until then nobody has to do anything for them, so
// that their answers come without a remedy.
func (q *Question) add(answers []Answer, goals bool) {
	pursued := len(q.Open()) == 0
	for _, a := range answers {
		if goals && !pursued {
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
	Reason   Reason // that of the gate which a run shows, "" where a run shows none
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

// topics returns the topics in order. Of a member that serves there is nothing more to ask about its repair and its failover,
// and a restart that takes nothing away need not wait for others.
func (s *subject) topics() []answer {
	repair, failover := [][]condition{beforeRepair}, [][]condition{beforeFailover}
	if !s.member.Up() {
		repair = append(repair, worthTrying())
		failover = append(failover, sparing, []condition{downLongEnough})
		if !s.restartIsHarmless(s.profile, s.member) {
			repair = append(repair, beforeHarmfulRepair)
		}
	}
	return []answer{
		{AnyChange, [][]condition{beforePhases, beforeTakingAway}},
		{ByRollout, [][]condition{{isProvided}, changes, {isToRestart, comesNext}, beforeRollout, beforeRestart}},
		{ByRepair, repair},
		{ByScaleIn, [][]condition{beforeScaleIn, {othersStay, leftDatabase}}},
		{ByFailover, failover},
	}
}

// Why returns what keeps a member from being restarted, repaired, removed and given up, or what does not. The conditions are
// those that Decide goes through, and Why goes on after a condition that does not hold. There is no answer about a
// member that the cluster does not have.
func Why(profiles []Profile, policy Policy, w desired.State, s state.Snapshot, member string) []Question {
	scopes := scopesOf(&policy, &w, &s)
	for i, sc := range scopes {
		m, ok := sc.Got.Member(member)
		if !ok {
			continue
		}
		_, holds := decideComponents(profiles, &policy, &w, &s, scopes, verdict{})
		about := sc.about(profileOf(profiles, w.Groups[i].Kind), holds[i], m)
		about.lost, _ = sc.lostMember(about.profile, m)
		var questions []Question
		for _, t := range about.topics() {
			q := Question{Topic: t.topic}
			if t.topic == AnyChange {
				q.Answers = about.cluster(&w, &s)
			}
			for _, list := range t.lists {
				for i := range list {
					q.add(list[i].answers(about), list[i].goals != nil)
				}
			}
			questions = append(questions, q)
		}
		return questions
	}
	return nil
}

// cluster returns the answers about the cluster and the component as a whole.
func (s *subject) cluster(w *desired.State, seen *state.Snapshot) []Answer {
	pause := w.Cluster.Pause
	paused := Answer{Want: "cluster not paused", Because: "a person has it left alone", Met: !w.Cluster.Paused}
	if !paused.Met {
		paused.Observed, paused.By, paused.Since, paused.Deadline = "it is paused", ByPerson, pause.Since, pause.Until
	}
	suspended := Answer{Want: "component not suspended", Because: "a suspended component has no pods", Met: !s.Want.Suspend}
	if !suspended.Met {
		suspended.Observed, suspended.By = "it is suspended in the spec", ByPerson
	}
	all := []Answer{paused, suspended}
	conditions := beforeComponents(w, seen)
	for i := range conditions {
		all = append(all, conditions[i].answers(s)...)
	}
	return all
}

// answers returns one answer for a condition that holds. For a condition that does not hold, answers returns an answer for
// each gate, or for the first step where there is no gate.
func (c *condition) answers(s *subject) []Answer {
	base := Answer{Want: c.want, Because: c.because, Met: true}
	switch {
	case c.goals != nil:
		return c.ofGoals(s)
	case c.unmet != nil:
		if base.Observed = c.unmet(s); base.Observed != "" {
			base.Met, base.By = false, c.by
		}
		return []Answer{base}
	}
	return c.opened(base, c.waits(s))
}

// ofGoals returns the answers of goals, each of which is pursued whatever the others are.
func (c *condition) ofGoals(s *subject) []Answer {
	var all []Answer
	for _, h := range c.goals(&s.profile) {
		v, met := s.try(h, s.member)
		base := Answer{Want: h.Want, Because: cmp.Or(h.Because, c.because), Met: true}
		if !met {
			all = append(all, c.opened(base, v)...)
			continue
		}
		if len(v.notes) > 0 {
			base.Observed = "left out: " + v.notes[0]
		}
		all = append(all, base)
	}
	return all
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

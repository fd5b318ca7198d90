package plantest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Why returns what Why answers about a member, one topic after the other.
func (c *Cluster) Why(member string) []plan.Question {
	return plan.Why(component.Profiles(), c.Policy, c.Wanted, c.Seen, member)
}

// answers fails unless each topic is answered about each member, whatever is wrong with the member.
func (c *Cluster) answers(t *testing.T, name string) {
	t.Helper()
	for _, w := range c.Wanted.Groups {
		for _, m := range c.Seen.Groups[w.Kind].Members {
			want := 5
			if w.Replaces(m) {
				want++ // the replacement that a user has asked for
			}
			if got := len(c.Why(m.Name)); got != want {
				t.Errorf("%s: %d topics are answered about %s, wanted %d", name, got, m.Name, want)
			}
		}
	}
}

// explained panics unless Why agrees with a plan: all conditions for a step hold which the plan takes.
func (c *Cluster) explained(p plan.Plan) {
	for _, s := range p.Steps {
		topics := topicsOf(s)
		if len(topics) == 0 {
			continue
		}
		_, member := s.Target()
		if questions := c.Why(member); !anyMet(questions, topics) {
			panic(fmt.Sprintf("plantest: the step %q is taken, and its conditions do not hold:\n%s", s, open(questions)))
		}
	}
}

// topicsOf returns the topics of which one explains a step.
func topicsOf(s step.Step) []plan.Topic {
	switch s := s.(type) {
	case step.Restart:
		return []plan.Topic{plan.ByRollout, plan.ByRepair}
	case step.RecordFailure:
		if !s.Discarded {
			return []plan.Topic{plan.ByFailover}
		}
	}
	return nil
}

func anyMet(questions []plan.Question, topics []plan.Topic) bool {
	for _, q := range questions {
		for _, t := range topics {
			if q.Topic == t && len(q.Open()) == 0 {
				return true
			}
		}
	}
	return false
}

// open returns the conditions that do not hold, one in each line.
func open(questions []plan.Question) string {
	var b strings.Builder
	for _, q := range questions {
		for _, a := range q.Open() {
			fmt.Fprintf(&b, "%s: %s: %s (%s)\n", q.Topic, a.Want, a.Observed, a.By)
		}
	}
	return b.String()
}

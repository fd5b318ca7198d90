package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// standing is how long an engine may wait for the same things before it has to say
// what a person can do, in seconds.
const standing = 20 * 60

// still is what an engine waits for, and since when nothing of that has changed.
type still struct {
	gates []plan.Gate
	since int64
}

// judgeStandstill: where nothing changes for long, some gate says when that ends, or
// what can be done. Others may open when that one does.
func (w *World) judgeStandstill(p plan.Plan, err error) {
	s := &w.still
	same := err == nil && len(p.Steps) == 0 && slices.EqualFunc(s.gates, p.Gates, func(a, b plan.Gate) bool {
		return a.Want == b.Want && a.Member == b.Member && a.Observed == b.Observed && a.Component == b.Component
	})
	if !same {
		s.gates, s.since = p.Gates, w.t
		return
	}
	if w.t-s.since < standing || p.Outcome != plan.Wait {
		return
	}
	says := func(g plan.Gate) bool { return g.Blocked || g.Deadline.After(w.Now()) }
	if !slices.ContainsFunc(p.Gates, says) {
		w.broke("told", "for %d minutes nobody is told what to do: %s", (w.t-s.since)/60, gates(p))
		s.since = w.t
	}
}

package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

// standing is how long an engine may wait for the same gates, in seconds. After that it must say
// when that ends or what a person can do.
const standing = 20 * 60

// still is what an engine waits for, and since when that has not changed.
type still struct {
	gates []plan.Gate
	since int64
}

// judgeStandstill checks the gates where nothing changes for long. At least one gate says when the
// wait ends or what can be done. Other gates may pass when that one does.
func (w *Model) judgeStandstill(p plan.Plan, err error) {
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
		w.broke("explained", "for %d minutes no gate says when it ends or what to do: %s", (w.t-s.since)/60, gates(p))
		s.since = w.t
	}
}

package sim

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// drainedByOperator reports whether a tidb-operator restarts a capture now; until then it moves its tables
// away. It marks the pod, and never takes the mark off. When the time by the mark is over it goes on.
func (w *Model) drainedByOperator(i int) bool {
	p, own := w.pods[ticdc][i], w.captureOf(i)
	if p.drainBegun.IsZero() {
		w.note("tidb-operator: drains %s", w.names[ticdc][i])
		p.drainBegun = w.Now()
	}
	switch {
	case w.Now().Sub(p.drainBegun) >= w.DrainTimeout, own == nil, w.CannotDrain, w.takers() < 2:
		return true
	case !w.ownerAnswers():
		return false
	case w.cdc.owner == own.id:
		w.resignOwner()
		return false
	}
	return w.drainNow(own.id) == 0
}

// adoptDrain writes the record before it takes tidb-operator's mark off the pod.
func (w *Model) adoptDrain(s step.AdoptDrain) error {
	i, _ := w.index(s.Component, s.Member)
	p := w.pods[ticdc][i]
	if p == nil || p.uid != s.PodUID {
		return errConflict
	}
	if d, recorded := w.drainOf(s.Member); !p.drainBegun.IsZero() && !s.Since.IsZero() && (!recorded || d.PodUID != s.PodUID) {
		w.writeDrain(state.Drain{Member: s.Member, PodUID: s.PodUID, Since: s.Since, Asked: w.Now(), Tables: state.TablesUnknown})
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	p.drainBegun = time.Time{}
	return nil
}

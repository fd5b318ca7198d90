package forecast

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func movePrimary(w *world, s step.MovePrimary) {
	w.member(s.Component, s.From).Database.Primary = false
	w.member(s.Component, s.To).Database.Primary = true
}

// electPrimaries makes another member of a service of PD the primary where the primary has ended.
func (w *world) electPrimaries() {
	for _, k := range topology.Services() {
		members := w.snap.Groups[k].Members
		var next *state.Member
		for i := range members {
			m := &members[i]
			m.Database.Primary = m.Database.Primary && m.Up()
			if m.Database.Primary || next == nil && m.Up() {
				next = m
			}
			if m.Database.Primary {
				break
			}
		}
		if next != nil && !next.Database.Primary {
			next.Database.Primary, w.changed = true, true
		}
	}
}

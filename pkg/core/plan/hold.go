package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// hold takes steps out of what was decided for a component, each for the gate that gateOf returns for it. GateOf gets the
// step and the name of its member, and reports whether the step is held back.
func (d *decision) hold(v verdict, gateOf func(step.Step, string) (Gate, bool)) verdict {
	var steps []step.Step
	for _, s := range v.steps {
		_, name := s.Target()
		g, held := gateOf(s, name)
		if !held {
			steps = append(steps, s)
			continue
		}
		// What the step is for is not waited for now.
		v.gates = slices.DeleteFunc(v.gates, func(g Gate) bool { return name != "" && g.Member == name && g.Reason != MemberServing })
		v.gates = append(v.gates, g)
	}
	v.steps = steps
	return v
}

// isStopped reports whether a member is known not to run, so that nothing is lost with it.
func (d *decision) isStopped(name string) bool {
	m, is := d.Got.Member(name)
	return is && m.Stopped()
}

// TakesAway reports whether a step takes a member away that may serve, or prepares that.
func TakesAway(s step.Step) bool {
	switch s := s.(type) {
	case step.Resize:
		return s.To < s.From
	case step.Restart, step.MoveLeader, step.MovePrimary, step.RemoveMember, step.RemoveStore, step.ClosePump, step.EvictLeaders, step.DrainCapture, step.BeginDDLPause, step.DeleteSet:
		return true
	}
	return false
}

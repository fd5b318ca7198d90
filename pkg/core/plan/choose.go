package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// chooseSteps returns the steps to take now. Steps that are not disruptive come first, all of them. Only
// when there are none, a disruptive step is taken, alone, so that it follows directly on the live
// observation that justified it.
//
// Components whose last step failed come after all others. What cannot be done for such a component
// must not keep another from failover or scale-in. Such components alternate.
func chooseSteps(steps []step.Step, later []topology.Kind) []step.Step {
	var calm []step.Step
	for _, s := range steps {
		if !s.Disruptive() {
			calm = append(calm, s)
		}
	}
	first := frontmost(steps, later)
	i := slices.IndexFunc(first, func(s step.Step) bool { return !s.Disruptive() })
	switch {
	case i >= 0:
		return calm
	case len(first) > 0:
		return first[:1]
	}
	return nil
}

// frontmost returns the steps that come first. These are the steps of components of which no step
// has failed, else the steps of the component that failed longest ago. Steps for the cluster as a
// whole always come first, since everything may depend on them.
func frontmost(steps []step.Step, later []topology.Kind) []step.Step {
	of := func(wanted func(topology.Kind) bool) []step.Step {
		var all []step.Step
		for _, s := range steps {
			if kind, _ := s.Target(); wanted(kind) {
				all = append(all, s)
			}
		}
		return all
	}
	if fresh := of(func(k topology.Kind) bool { return k == "" || !slices.Contains(later, k) }); len(fresh) > 0 {
		return fresh
	}
	for _, k := range later {
		if failed := of(func(o topology.Kind) bool { return o == k }); len(failed) > 0 {
			return failed
		}
	}
	return nil
}

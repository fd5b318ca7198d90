package preview

import (
	"cmp"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// phase is a part of the change of one component, with steps that follow each other there.
type phase struct {
	Component topology.Kind // "" for the cluster as a whole
	Name      forecast.Phase
	Steps     []forecast.Step
	// With: other phases go on at the same time.
	With bool

	first, last int // the turns of its main steps
}

// phases groups steps. Components can change at the same time, so that steps of several phases alternate.
func phases(steps []forecast.Step) []phase {
	var all []phase
	open := map[topology.Kind]int{}
	for _, s := range steps {
		k, _ := s.Target()
		at, begun := open[k]
		if !begun || all[at].Name != s.Phase {
			at, open[k] = len(all), len(all)
			all = append(all, phase{Component: k, Name: s.Phase, first: -1})
		}
		p := &all[at]
		if p.Steps = append(p.Steps, s); matters(s) {
			if p.last = s.Turn; p.first < 0 {
				p.first = s.Turn
			}
		}
	}
	for i := range all {
		for j := range i {
			all[i].With = all[i].With || all[i].first >= 0 && all[j].first >= 0 && all[j].last >= all[i].first
		}
	}
	return all
}

// matters reports whether other components wait for a step, or it waits for them. Services and ConfigMaps are written
// before, and when the last store has restarted no component waits until it may lead regions again.
func matters(s forecast.Step) bool {
	if action := s.Action(); small[action] || action == "AllowLeaders" {
		return false
	}
	a, writes := s.Step.(step.Apply)
	return !writes || a.Component != "" && a.Object.Kind == "StatefulSet"
}

// work is what is done in the same way for members one after the other, or for a whole component.
type work struct {
	members []string
	tasks   []task
}

// task is a kind of step within a phase.
type task struct {
	text  string
	waits []string
}

// works returns what is done in a phase, with the members for which the same is done as one.
func (p phase) works() []work {
	var all []work
	for _, one := range p.byMember() {
		if n := len(all); n > 0 && len(one.members) > 0 && len(all[n-1].members) > 0 && sameWork(all[n-1], one) {
			all[n-1].members = append(all[n-1].members, one.members...)
			for i := range one.tasks {
				all[n-1].tasks[i].waitFor(one.tasks[i].waits)
			}
			continue
		}
		all = append(all, one)
	}
	return all
}

func sameWork(a, b work) bool {
	return slices.EqualFunc(a.tasks, b.tasks, func(x, y task) bool { return x.text == y.text })
}

// byMember returns what is done for each member.
func (p phase) byMember() []work {
	var all []work
	for _, s := range p.Steps {
		if small[s.Action()] {
			continue
		}
		_, member := s.Target()
		var about []string
		if member != "" {
			about = []string{member}
		}
		at := slices.IndexFunc(all, func(w work) bool { return slices.Equal(w.members, about) })
		// Several members may leave at the same time, and several volumes may grow. Restarts come one after another.
		if at < 0 || at != len(all)-1 && (member == "" || p.Name == forecast.Rollout) {
			at, all = len(all), append(all, work{members: about})
		}
		all[at].add(s)
	}
	return all
}

func (w *work) add(s forecast.Step) {
	text := phrase(s.Step)
	at := slices.IndexFunc(w.tasks, func(t task) bool { return t.text == text })
	if at < 0 {
		at, w.tasks = len(w.tasks), append(w.tasks, task{text: text})
	}
	var waits []string
	for _, wait := range s.Waits {
		if !slices.Contains(brief, wait.Reason) {
			waits = append(waits, cmp.Or(plain[wait.Reason], wait.Want))
		}
	}
	w.tasks[at].waitFor(waits)
}

func (t *task) waitFor(waits []string) {
	for _, w := range waits {
		if !slices.Contains(t.waits, w) {
			t.waits = append(t.waits, w)
		}
	}
}

// plain are what is waited for where the gate names more than that.
var plain = map[plan.Reason]string{plan.VolumeResized: "volume resized"}

// brief are waits of a second for Kubernetes.
var brief = []plan.Reason{plan.SpecObserved, plan.RolloutRecorded, plan.PodReplaced}

package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// replaceEnded deletes the pods that are in a final phase, one pod after the other. Kubernetes starts no container of
// such a pod again. Usually the StatefulSet controller deletes such a pod at once, so the controller has two minutes.
// The controller does not delete pods in phase Succeeded before Kubernetes 1.29, and deletes nothing while it does not
// run. The phase alone is no proof, because some versions report the phase before the last container has ended. So a
// second kind of evidence is needed.
func (d *decision) replaceEnded() verdict {
	var v verdict
	for _, m := range d.Got.InSet() {
		if !d.replacesEnded(m) {
			continue
		}
		since := m.EndedSince()
		if due := since.Add(facts.Settling); d.All.At.Before(due) {
			v.gates = append(v.gates, d.untilDeadline(m, "is recreated", since, due))
			continue
		}
		return act(step.ReplaceEnded{Component: d.Want.Kind, Member: m.Name, UID: m.Pod.UID, ByDatabase: m.Pod.NodeState != state.NodeReady})
	}
	return v
}

// replacesEnded reports whether the pod of a member has ended and may be deleted, so that the next one gets the same
// data. Data that was given up must not come back.
func (d *decision) replacesEnded(m state.Member) bool {
	return d.HasEnded(m) && (d.Want.Kind.Data() == topology.None || !d.gaveUpData(m))
}

// endedAdvice is what a person can do about a pod that has ended and that nobody has replaced.
func (sc Scope) endedAdvice(m state.Member) remedy.Remedy {
	return append(sc.describe("pod", m.Name),
		remedy.Run("if nothing of it runs on node "+m.Pod.Node+" any more, have another one made", sc.Cluster.Delete("pod", m.Name)))
}

package plan

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// ReplaceEnded deletes a pod in a final phase, so that the StatefulSet controller makes another one. Its claims stay.
type ReplaceEnded struct {
	Component topology.Kind
	Member    string
	UID       string
	// ByDatabase: PD says for long that the member does not serve. Otherwise the node of the pod is Ready, so that its
	// kubelet is heard. One of the two is read once more just before the pod is deleted.
	ByDatabase bool
}

func (ReplaceEnded) Action() string                    { return "ReplaceEnded" }
func (s ReplaceEnded) Target() (topology.Kind, string) { return s.Component, s.Member }
func (ReplaceEnded) Disruptive() bool                  { return true }
func (ReplaceEnded) Quiet() bool                       { return false }

func (s ReplaceEnded) String() string {
	return fmt.Sprintf("recreate pod %s, which has ended", s.Member)
}

// replaceEnded deletes the pods that are in a final phase, one pod after the other. Kubernetes starts no container of
// such a pod again. Usually the StatefulSet controller deletes such a pod at once, so the controller has two minutes.
// The controller does not delete pods in phase Succeeded before Kubernetes 1.29, and deletes nothing while it does not
// run. The phase alone is no proof, because some versions report the phase before the last container has ended. So a
// second kind of evidence is needed.
func (sc Scope) replaceEnded(p Profile) verdict {
	var v verdict
	for _, m := range sc.Got.BelowReplicas() {
		if !sc.hasEnded(p, m) {
			continue
		}
		since := endedSince(m)
		if due := since.Add(settling); sc.All.At.Before(due) {
			v.gates = append(v.gates, sc.untilDeadline(m, "is recreated", since, due))
			continue
		}
		return act(ReplaceEnded{Component: p.Kind, Member: m.Name, UID: m.Pod.UID, ByDatabase: m.Pod.NodeState != state.NodeReady})
	}
	return v
}

// hasEnded reports whether the pod of a member is in a final phase and may be deleted. Two kinds of evidence must say
// that nothing of the pod runs, and a new pod must get what the member has. With a claim that is being deleted, the
// data would go with the pod.
func (sc Scope) hasEnded(p Profile, m state.Member) bool {
	switch {
	case m.Pod == nil || !m.Pod.Ended || m.Pod.Terminating || m.Pod.Controller != "" || !m.Stopped():
		return false
	case claimBeingDeleted(m) != "" || p.Kind.Data() != topology.None && sc.gaveUpData(p, m):
		return false
	}
	return m.Pod.NodeState == state.NodeReady || sc.downForLong(m) || sc.agreed(m) && sc.peersServe(p, m)
}

// endedSince returns since when the pod of a member is known to have ended. Kubernetes does not write when a phase
// began: a pod may have been NotReady for hours before.
func endedSince(m state.Member) time.Time { return later(m.Ended, m.Pod.Made) }

// endedAdvice is what a person can do about a pod that has ended and that nobody has replaced.
func (sc Scope) endedAdvice(m state.Member) remedy.Remedy {
	return append(sc.describe("pod", m.Name),
		remedy.Run("if nothing of it runs on node "+m.Pod.Node+" any more, have another one made", sc.Cluster.Delete("pod", m.Name)))
}

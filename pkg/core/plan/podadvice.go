package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// podAdvice is what a person can do about the pod of a member that does not serve.
func (sc Scope) podAdvice(m state.Member) remedy.Remedy {
	switch {
	case m.Pod == nil && m.Lacks.Name != "":
		return sc.lackingAdvice(m.Lacks)
	case m.Pod == nil:
		return sc.describe(sc.Cluster.SetResource(), sc.Cluster.SetName(m.Kind))
	case m.Pod.Overdue:
		return sc.overdueAdvice(m)
	case m.Pod.Ended:
		return sc.endedAdvice(m)
	case m.LacksVolume() && !sc.Want.Replaces(m):
		return remedy.Remedy{sc.describe("pod", m.Name)[0], NewVolume(*sc.Cluster, m)}
	case m.Pod.NodeLost():
		return remedy.Remedy{remedy.Run("bring its node back", remedy.Kubectl("", "describe", "node", m.Pod.Node)), Replaceable(*sc.Cluster)}
	}
	return sc.describe("pod", m.Name)
}

// Replaceable returns the command that shows which members of a lost host can be replaced.
func Replaceable(c topology.Cluster) remedy.Action {
	return remedy.Run("if the host does not come back, see which members can be replaced", c.Plugin("failover", "list"))
}

// NewVolume returns the commands that give a member a new volume in place of one that no node can use. The database has
// nothing to do before, where the members have no data of their own.
func NewVolume(c topology.Cluster, m state.Member) remedy.Action {
	const text = "if the node does not come back, give the member a new volume"
	if m.Kind.Data() == topology.None {
		return remedy.Run(text, c.Delete("pvc", m.LostVolume.Claim), c.Delete("pod", m.Name))
	}
	return remedy.Run(text, c.Plugin("replace", m.Name))
}

// lackingAdvice is what a person can do about an object that a pod names and that does not exist.
func (sc Scope) lackingAdvice(l state.Lacking) remedy.Remedy {
	return remedy.Remedy{
		remedy.Run("see which there are", sc.Cluster.Kubectl("get", l.Resource)),
		remedy.Run("make "+l.Kind+" "+l.Name+", or name another one in "+l.Field, sc.Cluster.Plugin("edit")),
	}
}

// overdueAdvice is what a person can do about a pod that stays Terminating. To delete it once more changes nothing: a
// kubelet that is not heard, or a finalizer, keeps the pod.
func (sc Scope) overdueAdvice(m state.Member) remedy.Remedy {
	see := sc.describe("pod", m.Name)
	force := sc.Cluster.Kubectl("delete", "pod", m.Name, "--force", "--wait=false")
	switch p := m.Pod; {
	case p.Node == "" && len(p.Finalizers) == 0:
		return see
	case p.NodeState == state.NodeNotReady:
		return remedy.Remedy{
			remedy.Run("bring its node back", remedy.Kubectl("", "describe", "node", p.Node)),
			remedy.Run("if the host is off and stays off, have Kubernetes move its pods and volumes",
				remedy.Kubectl("", "taint", "nodes", p.Node, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")),
		}
	case p.NodeState == state.NodeMissing:
		return append(see, remedy.Run("if the host is gone, delete the pod by force", force))
	case len(p.Finalizers) > 0:
		return remedy.Remedy{
			remedy.Say("have the program that has set it remove it"),
			remedy.Run("if that program is gone, remove all finalizers",
				sc.Cluster.Kubectl("patch", "pod", m.Name, "--type", "merge", "-p", `{"metadata":{"finalizers":null}}`)),
		}
	}
	return append(see, remedy.Run("see what its kubelet reports", remedy.Kubectl("", "describe", "node", m.Pod.Node)))
}

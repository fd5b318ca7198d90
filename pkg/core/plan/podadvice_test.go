package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestPodAdvice: what is wrong with a pod, and what a person can do. To delete a pod that stays Terminating once more
// does nothing, and "kubectl delete" waits for its end.
// TestNodeLost: Kubernetes makes the pods of a node that it does not hear NotReady. The gate names the node, and no
// command asks the node's kubelet, because it does not answer.
func TestNodeLost(t *testing.T) {
	for name, tt := range map[string]struct {
		node     state.NodeState
		observed string
	}{
		"not heard": {state.NodeNotReady, "node n1 is not Ready"},
		"deleted":   {state.NodeMissing, "node n1 does not exist"},
		"heard":     {state.NodeReady, "pod is not ready"},
		"not known": {state.NodeUnknown, "pod is not ready"},
	} {
		cluster := plantest.New(3, 3, 1).Down(time.Minute, "t-tikv-1")
		m := cluster.Member("t-tikv-1")
		m.Pod.Node, m.Pod.NodeState = "n1", tt.node
		g := cluster.Decide().Gates[0]
		if g.Observed != tt.observed {
			t.Errorf("%s: got %q, want %q", name, g.Observed, tt.observed)
		}
		help := g.Remedy.Line("")
		if lost := tt.observed != "pod is not ready"; strings.Contains(help, "kubectl describe node n1") != lost || strings.Contains(help, "kubectl tidb failover t list") != lost {
			t.Errorf("%s: what to do: %s", name, help)
		}
	}
}

func TestPodAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		pod             state.Pod
		observed, wants string
	}{
		"its node is not Ready": {
			state.Pod{NodeState: state.NodeNotReady, Node: "n1"}, "pod stays terminating: node n1 is not Ready",
			"bring its node back: kubectl describe node n1; or if the host is off and stays off, have Kubernetes move its pods and volumes: " +
				"kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
		},
		"its node does not exist": {
			state.Pod{NodeState: state.NodeMissing, Node: "n1"}, "pod stays terminating: node n1 does not exist",
			"see why: kubectl describe pod t-tikv-1 -n ns; or if the host is gone, delete the pod by force: kubectl delete pod t-tikv-1 --force --wait=false -n ns",
		},
		"a finalizer holds it": {
			state.Pod{NodeState: state.NodeReady, Node: "n1", Finalizers: []string{"a.example/x"}}, "pod stays terminating: finalizer a.example/x holds it",
			`have the program that has set it remove it; or if that program is gone, remove all finalizers: kubectl patch pod t-tikv-1 --type merge -p '{"metadata":{"finalizers":null}}' -n ns`,
		},
		"its node is Ready": {
			state.Pod{NodeState: state.NodeReady, Node: "n1"}, "pod stays terminating: node n1 is Ready, and its kubelet has not ended the pod",
			"see why: kubectl describe pod t-tikv-1 -n ns; or see what its kubelet reports: kubectl describe node n1",
		},
		"its node may not be read": {
			state.Pod{Node: "n1"}, "pod stays terminating: its kubelet on node n1 has not ended it",
			"see why: kubectl describe pod t-tikv-1 -n ns; or see what its kubelet reports: kubectl describe node n1",
		},
	} {
		for _, rolling := range []bool{false, true} {
			cluster := plantest.New(3, 3, 1).Down(time.Hour, "t-tikv-1")
			if rolling {
				cluster.Roll(topology.TiKV)
			}
			m := cluster.Member("t-tikv-1")
			m.Pod.Terminating, m.Pod.Overdue, m.Pod.Node = true, true, c.pod.Node
			m.Pod.NodeState, m.Pod.Finalizers = c.pod.NodeState, c.pod.Finalizers
			g := cluster.Decide().Gates[0]
			if g.Observed != c.observed || g.Remedy.Line("") != c.wants || !g.Blocked {
				t.Errorf("%s, in a rollout %v: %q, %q", name, rolling, g.Observed, g.Remedy.Line(""))
			}
			for _, a := range g.Remedy {
				for _, command := range a.Commands {
					if line := command.Line(""); strings.Contains(line, "kubectl delete") && !strings.Contains(line, "--wait=false") {
						t.Errorf("%s: %q waits for what may not come", name, line)
					}
				}
			}
		}
	}
}

// TestLackingAdvice: a pod that names what does not exist is not made. The field of the TidbCluster is named.
func TestLackingAdvice(t *testing.T) {
	cluster := plantest.New(3, 3, 1).Down(time.Hour, "t-tikv-1")
	m := cluster.Member("t-tikv-1")
	m.Pod, m.Gone, m.Refusal = nil, plantest.Now.Add(-time.Hour), "no pod: there is no PriorityClass high, which spec.tikv.priorityClassName names"
	m.Lacks = state.Lacking{Resource: "priorityclasses", Kind: "PriorityClass", Name: "high", Field: "spec.tikv.priorityClassName"}
	g := cluster.Decide().Gates[0]
	want := "see which there are: kubectl get priorityclasses -n ns; or make PriorityClass high, or name another one in spec.tikv.priorityClassName: kubectl tidb edit t -n ns"
	if g.Observed != m.Refusal || g.Remedy.Line("") != want {
		t.Errorf("%q, %q", g.Observed, g.Remedy.Line(""))
	}
}

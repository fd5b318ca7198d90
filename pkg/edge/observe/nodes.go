package observe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Nodes are read only where a pod has ended, stays Terminating, or is not Ready although its process runs. Whether the
// pod's kubelet is heard says how much the kubelet's report proves, and what a person can do.

// nodesKept is how long a node is not read again. Kubernetes hears of each node every 10 s.
const nodesKept = 10 * time.Second

// endsWithin is how long after its time a pod that is being deleted may still be there. The pod's kubelet needs a
// moment to report that the pod has ended.
const endsWithin = 30 * time.Second

// starting is how long a process usually runs before its pod is Ready. Kubernetes makes all pods of a node NotReady when
// it does not hear of the node, and goes on to report that their processes run.
const starting = 20 * time.Second

// mayBeLost reports whether a pod is not Ready because its node may be lost.
func mayBeLost(p *state.Pod, now time.Time) bool {
	return !p.Ready && !p.Terminating && !p.Started.IsZero() && now.Sub(facts.Later(p.Since, p.Started)) >= starting
}

// nodes is what Kubernetes says of nodes, by their names.
type nodes struct {
	said *memory[state.NodeState]
}

func newNodes() nodes { return nodes{said: &memory[state.NodeState]{fresh: nodesKept}} }

// read notes the nodes of pods that have ended, stay Terminating, or may be lost with their nodes.
func (n nodes) read(ctx context.Context, kube kubernetes.Interface, now time.Time, members []state.Member) {
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range members {
		p := members[i].Pod
		if p == nil || p.Node == "" || !p.Ended && !p.Overdue && !mayBeLost(p, now) {
			continue
		}
		all.Go(func() error {
			p.NodeState = n.said.readOnce(now, p.Node, func() (state.NodeState, *state.Gap, error) { return readNodeState(ctx, kube, p.Node) })
			return nil
		})
	}
	_ = all.Wait()
}

func readNodeState(ctx context.Context, kube kubernetes.Interface, name string) (state.NodeState, *state.Gap, error) {
	report, err := readNodeReport(ctx, kube, name)
	if denial.Missing(err) {
		return state.NodeUnknown, &state.Gap{What: "nodes"}, err
	}
	return report.State, nil, err
}

// overdue reports whether a pod should have ended now. Its deletion timestamp is the end of its grace period.
func overdue(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && now.Sub(p.DeletionTimestamp.Time) > endsWithin
}

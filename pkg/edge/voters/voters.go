// Package voters reads what the members of PD say themselves about PD's leader. It also reads which silent members
// are known not to run.
//
// It is asked where PD's leader does not answer, and before a member of PD is restarted. What the answers prove is
// decided in state.Voters, by the same rule for observations, for steps and for the simulation.
package voters

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// Reader reads them for one cluster.
type Reader struct {
	PD      pd.Client
	Kube    kubernetes.Interface
	Cluster topology.Cluster
	Now     func() time.Time
	// Pod returns the pod of a member of PD, nil if there is none.
	Pod func(ctx context.Context, ordinal int) (*corev1.Pod, error)
}

// Live returns a Reader that reads pods from the API server.
func Live(client pd.Client, kube kubernetes.Interface, c topology.Cluster, now func() time.Time) Reader {
	return Reader{PD: client, Kube: kube, Cluster: c, Now: now, Pod: func(ctx context.Context, ordinal int) (*corev1.Pod, error) {
		pod, err := kube.CoreV1().Pods(c.Namespace).Get(ctx, c.PodName(topology.PD, ordinal), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return pod, err
	}}
}

// Read asks all members of PD at the same time. It fails when none of them answers.
func (r Reader) Read(ctx context.Context) (state.Voters, error) {
	list, err := r.PD.Voters(ctx)
	if err != nil {
		return nil, err
	}
	names, committed := map[uint64]string{}, uint64(0)
	for _, v := range list {
		names[v.ID] = r.name(v)
		if v.Raft != nil {
			committed = max(committed, v.Raft.Committed)
		}
	}
	all := make(state.Voters, 0, len(list))
	for _, v := range list {
		m := state.Voter{Name: names[v.ID]}
		if v.Raft != nil {
			m.Committed = v.Raft.Committed
		}
		switch {
		case v.Raft == nil:
			m.Stopped = v.Refused || r.stopped(ctx, v)
		case v.Raft.Leader != 0 && names[v.Raft.Leader] == "":
			m.Answered, m.Follows = true, "a member that no other one lists"
		default:
			m.Answered, m.Follows, m.CaughtUp = true, names[v.Raft.Leader], v.Raft.Applied >= committed
		}
		all = append(all, m)
	}
	return all, nil
}

// name returns the name of a voter's pod, or PD's name of one in another Kubernetes cluster.
func (r Reader) name(v pd.Voter) string {
	if n, ok := r.ordinal(v); ok {
		return r.Cluster.PodName(topology.PD, n)
	}
	return cmp.Or(v.Name, "a member without a name")
}

// Named returns the same for a member of which only PD's name is known.
func Named(c topology.Cluster, name string) string {
	if n, ok := c.Ordinal(topology.PD, name); ok && c.HasPDName(name) {
		return c.PodName(topology.PD, n)
	}
	return name
}

// Refused reports whether nothing listens on a member's port, by the error of a Read that no member has answered.
func Refused(err error, c topology.Cluster, ordinal int) bool {
	var silent *pd.SilentError
	return errors.As(err, &silent) && slices.ContainsFunc(silent.Refused, func(host string) bool {
		name, _, _ := strings.Cut(host, ":")
		n, ok := c.HostOrdinal(topology.PD, name)
		return ok && n == ordinal
	})
}

// ordinal returns whose pod of this cluster a voter runs in.
func (r Reader) ordinal(v pd.Voter) (int, bool) {
	for _, raw := range slices.Concat(v.PeerURLs, v.ClientURLs) {
		if u, err := url.Parse(raw); err == nil {
			if n, ok := r.Cluster.HostOrdinal(topology.PD, u.Hostname()); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// stopped reports whether the process of a silent voter is known not to run.
func (r Reader) stopped(ctx context.Context, v pd.Voter) bool {
	n, ok := r.ordinal(v)
	if !ok {
		return false
	}
	pod, err := r.Pod(ctx, n)
	return err == nil && r.Stopped(ctx, pod)
}

// Stopped reports whether no process of a pod of PD can serve. That is so where there is no pod, the pod has no
// address, or the pod's kubelet says so and is known to be heard. What a kubelet has said that the API server does
// not hear may be old, so that the process may have been started since. A final phase proves nothing more.
// Kubernetes itself writes Failed for pods of a host that is lost, where the process may run and vote.
func (r Reader) Stopped(ctx context.Context, pod *corev1.Pod) bool {
	switch {
	case pod == nil || pod.Spec.NodeName == "":
		return true
	case Running(pod, topology.PD):
		return false
	case pod.Status.PodIP == "":
		return true
	}
	return r.Now().Sub(lastReport(pod)) >= reportsWithin && r.reports(ctx, pod.Spec.NodeName)
}

// reportsWithin is how long after the last report of a kubelet a Ready node proves that the kubelet is heard.
// Kubernetes calls a node Ready for 40 s after it has heard from its kubelet, and looks every 5 s.
const reportsWithin = time.Minute

// lastReport returns the last time in what a kubelet has reported of a pod.
func lastReport(pod *corev1.Pod) time.Time {
	last := pod.CreationTimestamp.Time
	note := func(t metav1.Time) {
		if t.After(last) {
			last = t.Time
		}
	}
	for _, c := range pod.Status.Conditions {
		note(c.LastTransitionTime)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		for _, ended := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if ended != nil {
				note(ended.FinishedAt)
			}
		}
	}
	return last
}

// reports reports whether Kubernetes hears of a node.
func (r Reader) reports(ctx context.Context, name string) bool {
	node, err := r.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return err == nil && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Running reports whether the container of a component runs, as its kubelet has said last.
func Running(pod *corev1.Pod, k topology.Kind) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.Name == string(k) && c.State.Running != nil
	})
}

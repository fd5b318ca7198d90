package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// closePump asks a Pump to close, if PD's etcd has it online under the same id. Once asked, it goes offline by itself,
// and that cannot be taken back.
func (a *Actor) closePump(ctx context.Context, s step.ClosePump) error {
	_, ordinal, known := a.cluster.Member(s.Member)
	if !known {
		return fmt.Errorf("close %s: it is no member of the cluster", s.Member)
	}
	pod, err := a.samePod(ctx, s.Member, s.PodUID)
	if err != nil {
		return err
	}
	all, err := a.binlogNodes(ctx)
	if err != nil {
		return err
	}
	object := fmt.Sprintf("Pump %s of %s", s.Node, s.Member)
	own := a.pumpsOf(all, s.Member)
	i := slices.IndexFunc(own, func(n pd.BinlogNode) bool { return n.ID == s.Node })
	switch {
	case i < 0:
		return stale(object, "is not in PD's etcd any more")
	case own[i].State == string(state.PumpClosing), own[i].State == string(state.PumpOffline):
		return nil
	case own[i].State != string(state.PumpOnline):
		return stale(object, "is %s", own[i].State)
	}
	if err := a.notTheLast(ctx, object, s.Node, all); err != nil {
		return err
	}
	if err := a.askToClose(ctx, ordinal, s); err != nil {
		return err
	}
	return a.markClosing(ctx, pod)
}

// notTheLast fails if TiDB servers write a binlog, and no Pump but the given one takes the binlog. Pods and Pumps
// are read live, because a step can be sent long after its decision. A TiDB server that has started since then fails
// at its next write.
func (a *Actor) notTheLast(ctx context.Context, object, node string, all []pd.BinlogNode) error {
	pods, err := a.kube.CoreV1().Pods(a.cluster.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return failed("list", "pods", err)
	}
	writer, closing := "", map[string]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch k, _, ok := a.cluster.Member(pod.Name); {
		case !ok:
		case k == topology.TiDB && slices.ContainsFunc(pod.Spec.Containers, state.WritesBinlog):
			writer = pod.Name
		case k == topology.Pump:
			closing[pod.Name] = pod.Annotations[topology.AnnotationClosing] != "" && pod.Annotations[topology.AnnotationClosing] == restarts(pod)
		}
	}
	takes := func(n pd.BinlogNode) bool {
		ordinal, ours := a.cluster.PumpOrdinal(n.Host, n.ID)
		asked := ours && closing[a.cluster.PodName(topology.Pump, ordinal)]
		return n.ID != node && !asked && a.online(n)
	}
	if writer == "" || slices.ContainsFunc(all, takes) {
		return nil
	}
	return stale(object, "is the only Pump that is online now, and %s writes a binlog", writer)
}

// online reports whether an entry of PD's etcd is of a Pump that is online, and renews the entry.
func (a *Actor) online(n pd.BinlogNode) bool {
	answered := n.Answered
	if answered.IsZero() {
		answered = a.now()
	}
	return !n.Drainer && n.State == string(state.PumpOnline) && answered.Sub(n.Updated) < a.cluster.PumpSilence()
}

// askToClose sends the request. A Pump that tidb-operator has started listens on the address of its pod only, and a
// connection through the API server arrives at another one.
func (a *Actor) askToClose(ctx context.Context, ordinal int, s step.ClosePump) error {
	err := a.pump(a.cluster, ordinal).Close(ctx, s.Node)
	switch {
	case errors.Is(err, dial.Refused):
		return fmt.Errorf("close Pump %s: it listens on the address of its pod only, which is reached from inside the cluster: run this there, or close it with binlogctl: %w", s.Node, err)
	case err != nil:
		return fmt.Errorf("close Pump %s: %w", s.Node, err)
	}
	return nil
}

// markClosing notes on a pod that its Pump was asked to close. A Pump says so only when it is asked again.
func (a *Actor) markClosing(ctx context.Context, pod *corev1.Pod) error {
	return patched("pod "+pod.Name, func(body []byte) error {
		_, err := a.kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	}, map[string]any{"uid": string(pod.UID), "annotations": map[string]any{topology.AnnotationClosing: restarts(pod)}}, nil)
}

// restarts returns how often the container of a Pump has been restarted. A process that starts after the request to
// close is online again.
func restarts(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == string(topology.Pump) {
			return strconv.Itoa(int(c.RestartCount))
		}
	}
	return ""
}

// binlogNodes returns the Pumps and drainers that have registered in PD's etcd.
func (a *Actor) binlogNodes(ctx context.Context) ([]pd.BinlogNode, error) {
	client, err := a.database()
	if err != nil {
		return nil, err
	}
	all, err := client.BinlogNodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read Pumps: %w", err)
	}
	return all, nil
}

// pumpsOf returns the Pumps that have registered from a pod.
func (a *Actor) pumpsOf(all []pd.BinlogNode, pod string) []pd.BinlogNode {
	var own []pd.BinlogNode
	for _, n := range all {
		if ordinal, ok := a.cluster.PumpOrdinal(n.Host, n.ID); ok && !n.Drainer && a.cluster.PodName(topology.Pump, ordinal) == pod {
			own = append(own, n)
		}
	}
	return own
}

// noPump fails if a Pump has registered from the pod that is not offline.
func (a *Actor) noPump(ctx context.Context, object, pod string) error {
	all, err := a.binlogNodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range a.pumpsOf(all, pod) {
		if n.State != string(state.PumpOffline) {
			return stale(object, "belongs to %s, whose Pump %s is %s", pod, n.ID, n.State)
		}
	}
	return nil
}

package observe

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// Joining sets what finds the parts that use the PD of a cluster.
func (o *Observer) Joining(find func(context.Context, topology.Cluster) (intent.Parts, error)) {
	o.joining = find
}

// otherParts returns which members of other parts run, while PD is to be suspended and may still serve them. Else it
// reads nothing.
func (o *Observer) otherParts(ctx context.Context, c topology.Cluster, seen objects) state.OtherParts {
	if o.joining == nil || !c.PDSuspended() || seen.existing.Sets[topology.PD] == nil && len(seen.pods[topology.PD]) == 0 {
		return state.OtherParts{}
	}
	parts, err := o.joining(ctx, c)
	if err != nil {
		return state.OtherParts{Problem: err.Error()}
	}
	// Members of the first part are up while it waits for a part that joins it. So only the first part waits for members
	// that are not known.
	others := state.OtherParts{Unknown: c.Founds() && parts.MayBeMore(), Across: c.HasHadPartsAcross()}
	for _, p := range parts.Known {
		running, err := o.runningOf(ctx, p)
		if err != nil {
			return state.OtherParts{Problem: err.Error()}
		}
		others.Running = append(others.Running, running...)
	}
	slices.SortFunc(others.Running, func(a, b state.RunningElsewhere) int { return strings.Compare(a.Member, b.Member) })
	return others
}

// runningOf returns the members of a part that have a pod. A component that is to run has one soon: the pod of a member that
// restarts does not exist for a moment.
func (o *Observer) runningOf(ctx context.Context, p topology.Cluster) (all []state.RunningElsewhere, err error) {
	pods, err := o.kube.CoreV1().Pods(p.Namespace).List(ctx, ownedBy(p))
	if err != nil {
		return nil, err
	}
	found := map[topology.Kind]bool{}
	for _, pod := range pods.Items {
		k, _, ok := p.Member(pod.Name)
		if !ok || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		g, _ := p.Group(k)
		found[k] = true
		all = append(all, state.RunningElsewhere{Member: pod.Name, Namespace: p.Namespace, Part: p.Name, Suspended: g.Suspend})
	}
	for _, g := range p.Groups {
		if g.Active() > 0 && !found[g.Kind] {
			all = append(all, state.RunningElsewhere{Member: p.SetName(g.Kind), Namespace: p.Namespace, Part: p.Name})
		}
	}
	return all, nil
}

package observe

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Joining sets what finds the parts that use the PD of a cluster.
func (o *Observer) Joining(find func(context.Context, topology.Cluster) ([]topology.Cluster, error)) {
	o.joining = find
}

// otherParts returns which members of other parts run, while PD is to be suspended and may still serve them. Else it
// reads nothing.
func (o *Observer) otherParts(ctx context.Context, c topology.Cluster, seen objects) state.OtherParts {
	if o.joining == nil || !c.PDSuspended() || seen.existing.Sets[topology.PD] == nil && len(seen.pods[topology.PD]) == 0 {
		return state.OtherParts{}
	}
	running, err := o.runningElsewhere(ctx, c)
	if err != nil {
		return state.OtherParts{Problem: err.Error()}
	}
	return state.OtherParts{Running: running}
}

func (o *Observer) runningElsewhere(ctx context.Context, c topology.Cluster) ([]state.RunningElsewhere, error) {
	parts, err := o.joining(ctx, c)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	var instances []string
	for _, p := range parts {
		instances = append(instances, p.Instance)
	}
	of, err := labels.NewRequirement(topology.LabelInstance, selection.In, instances)
	if err != nil {
		return nil, err
	}
	pods, err := o.kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*of).String()})
	if err != nil {
		return nil, err
	}
	var all []state.RunningElsewhere
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, p := range parts {
			if k, _, ok := p.Member(pod.Name); ok && pod.Labels[topology.LabelInstance] == p.Instance {
				g, _ := p.Group(k)
				all = append(all, state.RunningElsewhere{Member: pod.Name, Namespace: p.Namespace, Part: p.Name, Suspended: g.Suspend})
			}
		}
	}
	slices.SortFunc(all, func(a, b state.RunningElsewhere) int { return strings.Compare(a.Member, b.Member) })
	return all, nil
}

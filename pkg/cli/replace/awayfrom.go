package replace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// nodeToLeave is the node of --away-from.
type nodeToLeave struct {
	name string
	node *corev1.Node // nil where there is no such node
}

// leftNode returns the node of --away-from, nil without that flag.
func (o options) leftNode(ctx context.Context, kube kubernetes.Interface) (*nodeToLeave, error) {
	if o.awayFrom == "" {
		return nil, nil //nolint:nilnil // there is no node, and no error
	}
	node, err := kube.CoreV1().Nodes().Get(ctx, o.awayFrom, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return &nodeToLeave{name: o.awayFrom}, nil
	case err != nil:
		return nil, fmt.Errorf("get node %s, to see whether it takes new pods: %w", o.awayFrom, err)
	}
	return &nodeToLeave{o.awayFrom, node}, nil
}

// leaving returns the members that are to leave the node of --away-from. These are the members that the user names. For
// components, these are the members that run on the node. Where nothing is named, members without volumes are left out.
//
// leaving fails unless Kubernetes puts no new pods of these members on the node. The node stays as it is, because pods of
// other users run there too.
func (o options) leaving(ctx context.Context, kube kubernetes.Interface, from *nodeToLeave, r replacement) ([]string, error) {
	node := from.node
	if node == nil {
		return o.leftBehind(from.name, r)
	}
	leaving := slices.Concat(o.members, r.membersOn(node.Name, o.allOf))
	if len(o.members)+len(o.allOf) == 0 {
		leaving = r.withVolumes(r.membersOn(node.Name, replaceable()))
	}
	for _, name := range leaving {
		m, err := r.member(name)
		if err != nil {
			return nil, err
		}
		if at := nodeOf(m); at != node.Name {
			return nil, exit.Refusef("%s is on %s, and not on %s; nothing was changed", name, at, node.Name)
		}
	}
	if !node.Spec.Unschedulable {
		return nil, remedy.For(exit.Refusef("node %s takes new pods, so that members may come back there; nothing was changed", node.Name),
			remedy.Run("cordon it first", remedy.Kubectl("", "cordon", node.Name), o.command(r.cluster)))
	}
	for _, name := range leaving {
		if err := checkToleration(ctx, kube, r.cluster, name); err != nil {
			return nil, err
		}
	}
	return leaving, nil
}

// leftBehind returns the members that are to leave a node that does not exist. Their volumes can be used only there, so
// that Kubernetes puts their pods on no other node.
func (o options) leftBehind(node string, r replacement) ([]string, error) {
	var all []string
	for _, name := range o.members {
		m, err := r.member(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(m.LostVolume.Nodes, node) {
			return nil, exit.Refusef("there is no node %s, and no volume of %s is known that can be used only there; nothing was changed", node, name)
		}
		all = append(all, name)
	}
	components := o.allOf
	if len(o.members)+len(o.allOf) == 0 {
		components = replaceable()
	}
	all = append(all, r.membersOf(components, func(m state.Member) bool { return slices.Contains(m.LostVolume.Nodes, node) })...)
	switch waiting := slices.Sorted(maps.Keys(r.waiting())); {
	case len(all) == 0 && len(waiting) > 0:
		return nil, remedy.For(exit.Refusef("there is no node %s, and %s is to be replaced already; nothing was changed", node, strings.Join(waiting, ", ")),
			remedy.Run("go on with what was asked for", r.cluster.Plugin("sync")))
	case len(all) == 0:
		return nil, remedy.For(exit.Usagef("there is no node %s, and no volume is known that can be used only there", node),
			remedy.Run("see which nodes there are", remedy.Kubectl("", "get", "nodes")))
	}
	return all, nil
}

// membersOn returns the members of components that run on a node, without those that leave in any case.
func (r replacement) membersOn(node string, components []string) []string {
	return r.membersOf(components, func(m state.Member) bool { return nodeOf(m) == node })
}

// withVolumes returns members without those that have neither data nor claims.
func (r replacement) withVolumes(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		m, _ := r.find(name)
		return m.Kind.Data() == topology.None && len(m.Claims) == 0
	})
}

// membersOf returns those members of components that pass a filter, without those that leave in any case.
func (r replacement) membersOf(components []string, filter func(state.Member) bool) []string {
	var all []string
	for _, g := range r.cluster.Groups {
		if !slices.Contains(components, string(g.Kind)) {
			continue
		}
		for _, m := range r.groups[g.Kind].InSet() {
			if filter(m) && g.Has(m.Ordinal) && g.InSpec(m.Ordinal) {
				all = append(all, m.Name)
			}
		}
	}
	return all
}

// nodeOf returns the node of a member's pod, "no node" where there is none.
func nodeOf(m state.Member) string {
	if m.Pod == nil || m.Pod.Node == "" {
		return "no node"
	}
	return m.Pod.Node
}

// command returns the command that the user has given.
func (o options) command(c topology.Cluster) remedy.Command {
	args := slices.Clone(o.members)
	if len(o.allOf) > 0 {
		args = append(args, "--all-of", strings.Join(o.allOf, ","))
	}
	args = append(args, "--away-from", o.awayFrom)
	if o.spare {
		args = append(args, "--spare")
	}
	if o.balanced != nil {
		args = append(args, fmt.Sprintf("--wait-balanced=%t", *o.balanced))
	}
	return c.Plugin("replace", args...)
}

// checkToleration fails if the pod of a member tolerates that a node is cordoned. Kubernetes may put such a pod there
// again.
func checkToleration(ctx context.Context, kube kubernetes.Interface, c topology.Cluster, name string) error {
	pod, err := kube.CoreV1().Pods(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get pod %s/%s, to see which nodes it tolerates: %w", c.Namespace, name, err)
	}
	cordoned := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	for i := range pod.Spec.Tolerations {
		if pod.Spec.Tolerations[i].ToleratesTaint(klog.Background(), &cordoned, false) {
			return exit.Refusef("pod %s tolerates the taint %s, so that Kubernetes may put it on a cordoned node again; nothing was changed", name, corev1.TaintNodeUnschedulable)
		}
	}
	return nil
}

package maintenance

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubectl/pkg/drain"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
)

// node reads and changes the Node of a host.
type node struct {
	kube kubernetes.Interface
	name string
	seen *corev1.Node
	// dryRun has the API server check what is written, and write nothing.
	dryRun bool
}

// absentError says that there is no such node.
type absentError struct{ node string }

func (e *absentError) Error() string { return "there is no node " + e.node }

// read reads it.
func (n *node) read(ctx context.Context) (hosts.Host, error) {
	seen, err := n.kube.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return hosts.Host{}, remedy.For(exit.With(exit.Usage, &absentError{n.name}), remedy.Run("see which there are", remedy.Kubectl("", "get", "nodes")))
	case err != nil:
		return hosts.Host{}, fmt.Errorf("get node %s: %w", n.name, err)
	}
	n.seen = seen
	h, err := hosts.Of(seen)
	if err != nil {
		err = exit.With(exit.Refused, remedy.For(err, remedy.Run("see it", remedy.Kubectl("", "get", "node", n.name, "-o", "yaml"))))
	}
	return h, err
}

// others reads the other nodes that are under maintenance. One whose record cannot be read may be.
func (n *node) others(ctx context.Context) ([]hosts.Host, error) {
	nodes, err := n.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes, to see which others are under maintenance: %w", err)
	}
	var all []hosts.Host
	for i := range nodes.Items {
		if nodes.Items[i].Name == n.name {
			continue
		}
		h, err := hosts.Of(&nodes.Items[i])
		if err != nil {
			return nil, exit.With(exit.Refused, remedy.For(err, remedy.Run("see it", remedy.Kubectl("", "get", "node", h.Name, "-o", "yaml"))))
		}
		if h.Record != nil {
			all = append(all, h)
		}
	}
	return all, nil
}

// write writes a record, "" for none. It fails if the Node has changed since it was read. Another process may have
// written its own record, and the schedulers of that process would stay for ever.
func (n *node) write(ctx context.Context, record string) error {
	var value any
	if record != "" {
		value = record
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": n.seen.ResourceVersion, "annotations": map[string]any{hosts.Annotation: value},
	}})
	if err != nil {
		return err
	}
	seen, err := n.kube.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, patch, n.options())
	switch {
	case apierrors.IsConflict(err):
		return n.writeAgain(ctx, record)
	case err != nil:
		return fmt.Errorf("patch node %s: %w", n.name, err)
	}
	n.seen = seen
	return nil
}

func (n *node) options() metav1.PatchOptions {
	if n.dryRun {
		return metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	}
	return metav1.PatchOptions{}
}

// writeAgain writes after a conflict. The kubelet changes its Node as well, in other fields.
func (n *node) writeAgain(ctx context.Context, record string) error {
	before := n.seen
	if _, err := n.read(ctx); err != nil {
		return err
	}
	if n.seen.ResourceVersion == before.ResourceVersion || n.seen.Spec.Unschedulable != before.Spec.Unschedulable ||
		n.seen.Annotations[hosts.Annotation] != before.Annotations[hosts.Annotation] {
		return exit.With(exit.Failure, fmt.Errorf("node %s was changed by others at the same time; the same command goes on where this one stopped", n.name))
	}
	return n.write(ctx, record)
}

// cordon says whether the node takes new pods.
func (n *node) cordon(ctx context.Context, cordoned bool) error {
	c := drain.NewCordonHelper(n.seen)
	if !c.UpdateIfRequired(cordoned) {
		return nil
	}
	if err, _ := c.PatchOrReplaceWithContext(ctx, n.kube, n.dryRun); err != nil {
		return fmt.Errorf("cordon node %s: %w", n.name, err)
	}
	_, err := n.read(ctx) // its version has changed
	return err
}

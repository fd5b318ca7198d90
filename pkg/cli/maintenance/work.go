package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// work does actions on a node and its clusters.
type work struct {
	node *node
	open func(namespace, name string) (cluster, error)
	// list lists the TidbClusters.
	list func(context.Context) ([]topology.Cluster, error)
	// clusters are the connections, by namespace and name.
	clusters map[string]cluster
	errOut   io.Writer
}

// newWork returns work on a node and on clusters that are connected to as they are needed.
func newWork(f *factory.Factory, kube kubernetes.Interface, name string) *work {
	return &work{
		node: &node{kube: kube, name: name}, clusters: map[string]cluster{}, errOut: f.Streams.ErrOut,
		open: func(namespace, name string) (cluster, error) { return open(f, namespace, name) },
		list: func(ctx context.Context) ([]topology.Cluster, error) {
			_, all, err := listed(ctx, f)
			return all, err
		},
	}
}

func (w *work) close() {
	for _, c := range w.clusters {
		c.close()
	}
}

func (w *work) cluster(namespace, name string) (cluster, error) {
	key := namespace + "/" + name
	if c, ok := w.clusters[key]; ok {
		return c, nil
	}
	c, err := w.open(namespace, name)
	if err == nil {
		w.clusters[key] = c
	}
	return c, err
}

// look observes the clusters, in their order.
func (w *work) look(ctx context.Context, all []hosts.Cluster) ([]hosts.Sight, error) {
	var sights []hosts.Sight
	for _, c := range all {
		at, err := w.cluster(c.Namespace, c.Name)
		if err != nil {
			return nil, err
		}
		s, err := at.look(ctx)
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", c, err)
		}
		sights = append(sights, s)
	}
	return sights, nil
}

// holdAll keeps other runs from all of the clusters.
func (w *work) holdAll(ctx context.Context, all []hosts.Cluster) (release func(), err error) {
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, c := range all {
		at, err := w.cluster(c.Namespace, c.Name)
		if err != nil {
			release()
			return nil, err
		}
		r, err := at.hold(ctx)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, r)
	}
	return release, nil
}

// check returns an error with each reason why the host cannot be taken down.
func (w *work) check(ctx context.Context, h hosts.Host, sights []hosts.Sight) error {
	others, err := w.node.others(ctx)
	if err != nil {
		return err
	}
	var refused []error
	for _, r := range h.Check(sights, others) {
		text := fmt.Errorf("node %s cannot be taken down for cluster %s/%s: %s", h.Name, r.Cluster.Namespace, r.Cluster.Name, r.Text)
		refused = append(refused, remedy.For(text, r.Remedy...))
	}
	if len(refused) == 0 {
		return nil
	}
	return exit.With(exit.Refused, errors.Join(refused...))
}

// do does actions in their order, and ends with the first one that fails.
func (w *work) do(ctx context.Context, actions []hosts.Action) error {
	for _, a := range actions {
		if err := w.one(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func (w *work) one(ctx context.Context, a hosts.Action) error {
	switch a := a.(type) {
	case hosts.Write:
		return w.node.write(ctx, a.Record.JSON())
	case hosts.Forget:
		return w.node.write(ctx, "")
	case hosts.Mark:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.mark(ctx, a.Maintenance, w.node.dryRun) })
	case hosts.Unmark:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.unmark(ctx, a.Node) })
	case hosts.Cordon:
		return w.node.cordon(ctx, true)
	case hosts.Uncordon:
		return w.node.cordon(ctx, false)
	case hosts.MoveLeader:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.moveLeader(ctx, a.Step) })
	case hosts.Evict:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.evict(ctx, a.Store, true) })
	case hosts.Allow:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.evict(ctx, a.Store, false) })
	case hosts.Await:
		return w.onCluster(ctx, a.Cluster, func(c cluster) error { return c.wait(ctx, wait.Serving(a.Cluster.Members...)) })
	}
	return fmt.Errorf("there is no action %T", a)
}

// onCluster acts on a cluster. It does nothing if the cluster does not exist any more, because nothing of it is left
// in PD.
func (w *work) onCluster(ctx context.Context, of hosts.Cluster, do func(cluster) error) error {
	c, err := w.cluster(of.Namespace, of.Name)
	if err != nil {
		return err
	}
	s, err := c.look(ctx)
	if _, missing := errors.AsType[*intent.NotFoundError](err); missing || err == nil && !of.Is(s.Cluster) {
		fmt.Fprintf(w.errOut, "cluster %s does not exist any more\n", of)
		return nil
	}
	if err != nil {
		return err
	}
	return do(c)
}

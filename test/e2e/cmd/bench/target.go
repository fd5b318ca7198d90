package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// The tables to which clients write. They are made first: the TiDB of this node may not see a table
// that is made after PD and TiKV were restarted under it.
const (
	roundTable = "round"
	movesTable = "moves"
)

// interval is that of a client's writes.
const interval = 50 * time.Millisecond

// target is a namespace with the cluster that one driver drives.
type target struct {
	node   *node.Node
	pods   *dial.Pods
	plugin plugin.Plugin
	sql    workload.Service
}

func newTarget(n *node.Node, pods *dial.Pods, binary, namespace string) target {
	return target{
		node: n, pods: pods,
		plugin: plugin.Plugin{Binary: binary, Kubeconfig: n.Kubeconfig, Namespace: namespace},
		sql:    workload.Service{Kube: n.Kube, Pods: pods, Namespace: namespace, Cluster: cluster},
	}
}

// prepare creates the namespace and deletes what an earlier run left in it.
func (t target) prepare(ctx context.Context) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.plugin.Namespace}}
	if _, err := t.node.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if r := t.plugin.Run(ctx, nil, "init"); r.Code != 0 {
		return fmt.Errorf("init: %s", r.Stderr)
	}
	return t.clean(ctx)
}

// clean deletes the cluster of an earlier run, also one that a second driver has created.
func (t target) clean(ctx context.Context) error {
	if r := t.plugin.Run(ctx, nil, "delete", cluster, "--delete-pvcs", "--ignore-not-found", "--yes"); r.Code != 0 {
		return fmt.Errorf("delete: %s", r.Stderr)
	}
	return nil
}

// podsOf are the names of a component's pods, sorted.
func (t target) podsOf(ctx context.Context, component string) (names []string, err error) {
	list, err := t.node.Kube.CoreV1().Pods(t.plugin.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=" + component + ",app.kubernetes.io/instance=" + cluster,
	})
	if err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names, nil
}

func (t target) pdClient() pd.Client {
	cfg := pd.Config{Dial: t.pods.DialContext}
	for n := range 3 {
		cfg.URLs = append(cfg.URLs, fmt.Sprintf("http://%s-pd-%d.%s-pd-peer.%s.svc:2379", cluster, n, cluster, t.plugin.Namespace))
	}
	return pd.New(cfg)
}

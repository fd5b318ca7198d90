// Command bench measures the operations on the local node and prints a table:
// how long each took, and whom it waited for.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/plugin"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

const (
	namespace = "bench"
	cluster   = "basic"
)

// operation is what is measured, with the time it may take.
type operation struct {
	name string
	args []string
	bar  time.Duration
}

var operations = []operation{
	{"create 3 PD, 3 TiKV, 2 TiDB", []string{"create", cluster, "--version", "v8.1.0", "--storage", "1Gi"}, 35 * time.Second},
	{"TiKV 3 to 4", []string{"scale", cluster, "tikv=4"}, 12 * time.Second},
	{"TiKV 4 to 3", []string{"scale", cluster, "tikv=3"}, 10 * time.Second},
	{"upgrade under writes", []string{"upgrade", cluster, "v8.1.1"}, 110 * time.Second},
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	n, err := node.Up(ctx, root, os.Stderr)
	if err != nil {
		return err
	}
	p := plugin.Plugin{Binary: filepath.Join(root, "bin", "kubectl-tidb"), Kubeconfig: n.Kubeconfig, Namespace: namespace}
	if err := clean(ctx, n, p); err != nil {
		return err
	}
	pods, err := dial.NewPods(n.Config)
	if err != nil {
		return err
	}
	defer pods.Close()
	service := workload.Service{Kube: n.Kube, Pods: pods, Namespace: namespace, Cluster: cluster}
	var rows []row
	var steps []event.Event
	var writer *workload.Writer
	for i, op := range operations {
		if i == 1 {
			db, err := service.Open("bench")
			if err != nil {
				return err
			}
			defer db.Close()
			if writer, err = workload.Start(ctx, db, "bench", 50*time.Millisecond); err != nil {
				return err
			}
		}
		fmt.Fprintf(os.Stderr, "%s …\n", op.name)
		events, result, err := p.Events(ctx, op.args...)
		if err != nil {
			return err
		}
		if result.Code != 0 {
			return fmt.Errorf("%s: exit code %d: %s", op.name, result.Code, result.Stderr)
		}
		rows = append(rows, divide(op, events, result.Took))
		steps = append(steps, events...)
	}
	account := writer.Stop()
	table(os.Stdout, rows)
	fmt.Printf("\nA client that wrote a row every 50 ms from the first scaling to the end of the upgrade:\n%s\n", account)
	for _, err := range account.Failed {
		fmt.Println(err)
	}
	for _, s := range account.Stalls {
		fmt.Printf("a write of %v began %s\n", s.Took.Round(time.Millisecond), during(steps, s.At))
	}
	return clean(ctx, n, p)
}

// clean makes the namespace and takes away what an earlier run left in it.
func clean(ctx context.Context, n *node.Node, p plugin.Plugin) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := n.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if r := p.Run(ctx, nil, "init"); r.Code != 0 {
		return fmt.Errorf("init: %s", r.Stderr)
	}
	if p.Run(ctx, nil, "status", cluster).Code != 0 {
		return nil
	}
	if r := p.Run(ctx, nil, "delete", cluster, "--delete-pvcs", "--yes"); r.Code != 0 {
		return fmt.Errorf("delete: %s", r.Stderr)
	}
	return nil
}

// Package node gives tests, demo and benchmark a Kubernetes cluster: the one
// that KUBECONFIG_E2E names, or the local node, brought up when it is not.
package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNone says that there is no cluster and that none can be made here.
var ErrNone = errors.New("no Kubernetes cluster: the local node needs Linux and root; elsewhere, set KUBECONFIG_E2E")

// Node is a Kubernetes cluster.
type Node struct {
	Kubeconfig string
	Config     *rest.Config
	Kube       kubernetes.Interface
	// root is the repository's folder; "" when somebody else's cluster is used.
	root string
}

// Up finds the cluster or brings the local node up.
func Up(ctx context.Context, root string, progress io.Writer) (*Node, error) {
	path, local := os.Getenv("KUBECONFIG_E2E"), ""
	if path == "" {
		local = root
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			return nil, ErrNone
		}
		up := exec.CommandContext(ctx, "go", "run", ".", "up")
		up.Dir = filepath.Join(root, "test", "node")
		up.Stdout, up.Stderr = progress, progress
		if err := up.Run(); err != nil {
			return nil, fmt.Errorf("bring the local node up: %w", err)
		}
		path = filepath.Join(state(), "kubeconfig")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %s: %w", path, err)
	}
	config.QPS, config.Burst = 50, 100
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Node{Kubeconfig: path, Config: config, Kube: kube, root: local}, nil
}

// Local tells whether the cluster is the local node, which is ours to break.
func (n *Node) Local() bool { return n.root != "" }

// Outage kills the local node's API server and starts it again. It returns when
// that is ready.
func (n *Node) Outage(ctx context.Context) error {
	outage := exec.CommandContext(ctx, "go", "run", ".", "outage")
	outage.Dir = filepath.Join(n.root, "test", "node")
	if out, err := outage.CombinedOutput(); err != nil {
		return fmt.Errorf("restart the API server: %w\n%s", err, out)
	}
	return nil
}

// state is where the local node keeps its things.
func state() string {
	if dir := os.Getenv("NODE_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/kubectl-tidb-node"
}

// Package node gives tests, demo and benchmark a Kubernetes cluster: the one
// that KUBECONFIG_E2E names, or the local node, brought up when it is not.
package node

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

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
	// root is the repository's folder; "" when KUBECONFIG_E2E names another cluster.
	root string
	// state is where the local node keeps its things.
	state string
}

// Up finds the cluster or brings the local node up, with flags of its command up.
func Up(ctx context.Context, root string, progress io.Writer, flags ...string) (*Node, error) {
	path := os.Getenv("KUBECONFIG_E2E")
	if path == "" {
		if runtime.GOOS != "linux" || os.Geteuid() != 0 {
			return nil, ErrNone
		}
		up := exec.CommandContext(ctx, "go", append([]string{"run", ".", "up"}, flags...)...)
		up.Dir = filepath.Join(root, "test", "node")
		up.Stdout, up.Stderr = progress, progress
		if err := up.Run(); err != nil {
			return nil, fmt.Errorf("bring the local node up: %w", err)
		}
		return Open(root, state())
	}
	return open(Node{Kubeconfig: path})
}

// Open is a local node that is up, by its state folder.
func Open(root, state string) (*Node, error) {
	return open(Node{Kubeconfig: filepath.Join(state, "kubeconfig"), root: root, state: state})
}

// open connects to the API server.
func open(n Node) (*Node, error) {
	config, err := clientcmd.BuildConfigFromFlags("", n.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %s: %w", n.Kubeconfig, err)
	}
	config.QPS, config.Burst = 50, 100
	n.Config = config
	if n.Kube, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	return &n, nil
}

// Local reports whether the cluster is the local node, which is ours to break.
func (n *Node) Local() bool { return n.root != "" }

// Outage kills the local node's API server and starts it again after a while. It
// returns when that is ready.
func (n *Node) Outage(ctx context.Context, lasts time.Duration) error {
	if err := n.command(ctx, "outage", lasts.String()); err != nil {
		return fmt.Errorf("restart the API server: %w", err)
	}
	return nil
}

// Crash kills the container of a pod of the local node.
func (n *Node) Crash(ctx context.Context, namespace, pod string) error {
	if err := n.command(ctx, "crash", namespace, pod); err != nil {
		return fmt.Errorf("kill pod %s/%s: %w", namespace, pod, err)
	}
	return nil
}

// Host breaks or mends a host of the local node, as "crash node1" or "cut node1 from api" say.
func (n *Node) Host(ctx context.Context, args ...string) error {
	if err := n.command(ctx, args...); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// LoadPlugin gives the local node the image that "make image" has made, and
// returns its name.
func (n *Node) LoadPlugin(ctx context.Context) (image string, err error) {
	archive := filepath.Join(n.root, "bin", "kubectl-tidb-image.tar")
	if image, err = imageOf(archive); err != nil {
		return "", fmt.Errorf("the image is not made: run make e2e: %w", err)
	}
	return image, n.command(ctx, "load", archive)
}

// imageOf is the name of the image in an archive.
func imageOf(archive string) (string, error) {
	file, err := os.Open(archive)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for r := tar.NewReader(file); ; {
		header, err := r.Next()
		if err != nil {
			return "", fmt.Errorf("read %s: %w", archive, err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		var images []struct{ RepoTags []string }
		if err := json.NewDecoder(r).Decode(&images); err != nil {
			return "", fmt.Errorf("read %s: %w", archive, err)
		}
		if len(images) != 1 || len(images[0].RepoTags) != 1 {
			return "", fmt.Errorf("%s has to have one image with one name, and has %v", archive, images)
		}
		return images[0].RepoTags[0], nil
	}
}

// command runs a command of the local node.
func (n *Node) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = filepath.Join(n.root, "test", "node")
	cmd.Env = append(os.Environ(), "NODE_STATE="+n.state)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Link connects the networks of two local nodes, so that their pods reach each other, or takes the link away.
func (n *Node) Link(ctx context.Context, other *Node, connected bool) error {
	verb := "part"
	if connected {
		verb = "join"
	}
	if err := n.command(ctx, verb, other.state); err != nil {
		return fmt.Errorf("%s %s and %s: %w", verb, n.state, other.state, err)
	}
	return nil
}

// Kubectl runs kubectl, that of the node if there is no other.
func (n *Node) Kubectl(ctx context.Context, stdin string, args ...string) (stdout string, err error) {
	program, err := exec.LookPath("kubectl")
	if err != nil {
		program = filepath.Join(filepath.Dir(n.Kubeconfig), "bin", "kubectl")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--kubeconfig", n.Kubeconfig}, args...)...)
	var failure strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(stdin), &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, out, failure.String())
	}
	return string(out), err
}

// state is where the local node keeps its things.
func state() string {
	if dir := os.Getenv("NODE_STATE"); dir != "" {
		return dir
	}
	return "/var/lib/kubectl-tidb-node"
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

func (n *Node) importImages(ctx context.Context) error { return n.Load(ctx, n.Images) }

// Load imports an archive of container images.
func (n *Node) Load(ctx context.Context, archive string) error {
	started := time.Now()
	if _, err := n.ctr(ctx, "images", "import", archive); err != nil {
		return fmt.Errorf("import the container images of %s: %w", archive, err)
	}
	fmt.Fprintf(n.Progress, "images imported in %.1fs\n", time.Since(started).Seconds())
	return nil
}

// Crash kills the container of a pod. Deleting a pod, even by force, has its programs asked to end, so that they tidy
// up.
func (n *Node) Crash(ctx context.Context, namespace, pod string) error {
	out, err := n.ctr(ctx, "containers", "list", "--quiet", crashFilter(namespace, pod))
	if err != nil {
		return fmt.Errorf("find the containers of pod %s/%s: %w", namespace, pod, err)
	}
	err = errors.New("it has none")
	for _, id := range strings.Fields(out) {
		// Those that have ended are listed as well, and cannot be killed.
		if _, err = n.ctr(ctx, "tasks", "kill", "--signal", "SIGKILL", id); err == nil {
			return nil
		}
	}
	return fmt.Errorf("kill a container of pod %s/%s: %w", namespace, pod, err)
}

// crashFilter selects the containers of a pod but for the one that holds its namespaces open.
func crashFilter(namespace, pod string) string {
	return fmt.Sprintf(`labels."io.kubernetes.pod.namespace"==%q,labels."io.kubernetes.pod.name"==%q,labels."io.cri-containerd.kind"==container`,
		namespace, pod)
}

// ctr runs containerd's own command line.
func (n *Node) ctr(ctx context.Context, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "ctr", append([]string{"--address", n.Layout.runtimeSocket(), "--namespace", "k8s.io"}, arguments...)...)
	var output, failure bytes.Buffer
	command.Stdout, command.Stderr = &output, &failure
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w\n%s", arguments[0], err, output.String()+failure.String())
	}
	return output.String(), nil
}

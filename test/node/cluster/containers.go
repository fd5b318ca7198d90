package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Load imports an archive of container images, on each host that runs.
func (n *Node) Load(ctx context.Context, archive string) error {
	return n.importInto(ctx, n.running(), archive)
}

func (n *Node) importInto(ctx context.Context, hosts []Host, archive string) error {
	started := time.Now()
	failures := make([]error, len(hosts))
	var imports sync.WaitGroup
	for i, h := range hosts {
		imports.Go(func() { _, failures[i] = ctr(ctx, h, "images", "import", archive) })
	}
	imports.Wait()
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("import the container images of %s: %w", archive, err)
	}
	fmt.Fprintf(n.Progress, "images imported in %.1fs\n", time.Since(started).Seconds())
	return nil
}

// Crash kills the container of a pod. Deleting a pod, even by force, has its programs asked to end, so that they tidy
// up.
func (n *Node) Crash(ctx context.Context, namespace, pod string) error {
	failure := errors.New("it has none")
	for _, h := range n.running() {
		out, err := ctr(ctx, h, "containers", "list", "--quiet", crashFilter(namespace, pod))
		if err != nil {
			return fmt.Errorf("find the containers of pod %s/%s: %w", namespace, pod, err)
		}
		for _, id := range strings.Fields(out) {
			// Those that have ended are listed as well, and cannot be killed.
			if _, failure = ctr(ctx, h, "tasks", "kill", "--signal", "SIGKILL", id); failure == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("kill a container of pod %s/%s: %w", namespace, pod, failure)
}

// crashFilter selects the containers of a pod but for the one that holds its namespaces open.
func crashFilter(namespace, pod string) string {
	return fmt.Sprintf(`labels."io.kubernetes.pod.namespace"==%q,labels."io.kubernetes.pod.name"==%q,labels."io.cri-containerd.kind"==container`,
		namespace, pod)
}

// ctr runs containerd's own command line on a host.
func ctr(ctx context.Context, h Host, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "ctr", append([]string{"--address", h.runtimeSocket(), "--namespace", "k8s.io"}, arguments...)...)
	var output, failure bytes.Buffer
	command.Stdout, command.Stderr = &output, &failure
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w\n%s", arguments[0], err, output.String()+failure.String())
	}
	return output.String(), nil
}

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Load imports an archive of container images. Hosts that are added later import it as well, if it is there then.
func (n *Node) Load(ctx context.Context, archive string) error {
	archive, err := filepath.Abs(archive)
	if err != nil {
		return fmt.Errorf("find the archive of images: %w", err)
	}
	if err := n.importEverywhere(ctx, archive); err != nil {
		return err
	}
	if slices.Contains(n.state.Loaded, archive) {
		return nil
	}
	n.state.Loaded = append(n.state.Loaded, archive)
	return n.Layout.save(n.state)
}

func (n *Node) importEverywhere(ctx context.Context, archive string) error {
	if len(n.state.Crashed) > 0 {
		return fmt.Errorf("%s has crashed and would miss the images; first: go run . mend", n.state.Crashed[0])
	}
	return n.importInto(ctx, n.hosts(), archive)
}

func (n *Node) importInto(ctx context.Context, hosts []Host, archives ...string) error {
	if len(archives) == 0 {
		return nil
	}
	started := time.Now()
	failures := make([]error, len(hosts))
	var imports sync.WaitGroup
	for i, h := range hosts {
		imports.Go(func() {
			for _, archive := range archives {
				_, err := ctr(ctx, h, "images", "import", archive)
				failures[i] = errors.Join(failures[i], err)
			}
		})
	}
	imports.Wait()
	if err := errors.Join(failures...); err != nil {
		return fmt.Errorf("import container images: %w", err)
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

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Drain has kubectl move all pods off a host, and take no new ones there. More flags are for kubectl.
func (n *Node) Drain(ctx context.Context, name string, flags []string) error {
	if _, err := n.find(name); err != nil {
		return err
	}
	arguments := append([]string{
		"--kubeconfig", n.Layout.Kubeconfig(), "drain", name, "--ignore-daemonsets", "--delete-emptydir-data",
	}, flags...)
	command := exec.CommandContext(ctx, filepath.Join(n.Layout.Programs(), "kubectl"), arguments...)
	command.Stdout, command.Stderr = n.Progress, n.Progress
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Run(); err != nil {
		return fmt.Errorf("drain %s: %w; take it back: kubectl uncordon %s", name, err, name)
	}
	fmt.Fprintf(n.Progress, "%s takes pods again after: kubectl uncordon %s\n", name, name)
	return nil
}

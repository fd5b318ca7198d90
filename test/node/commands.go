//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/cluster"
)

// command is what the first argument says.
type command struct {
	// least and most are how many operands there must and may be.
	least, most int
	do          func(context.Context, cluster.Layout, []string) error
}

// unlimited is the most of commands that take any number of operands.
const unlimited = -1

var commands = map[string]command{
	"up":     {0, unlimited, func(ctx context.Context, l cluster.Layout, operands []string) error { return up(ctx, l, operands) }},
	"api":    {0, 0, func(ctx context.Context, l cluster.Layout, _ []string) error { return api(ctx, l) }},
	"down":   {0, 0, func(_ context.Context, l cluster.Layout, _ []string) error { return down(l) }},
	"images": {0, unlimited, func(ctx context.Context, _ cluster.Layout, operands []string) error { return images(ctx, operands) }},
	"env": {0, 0, func(_ context.Context, l cluster.Layout, _ []string) error {
		printEnvironment(l)
		return nil
	}},
	"attend": {0, 0, func(_ context.Context, l cluster.Layout, _ []string) error { return cluster.Attend(l) }},

	"load": {1, 1, onNode(func(ctx context.Context, n *cluster.Node, operands []string) error {
		return n.Load(ctx, operands[0])
	})},
	"outage": {0, 1, onNode(outage)},
	"crash": {1, 2, onNode(func(ctx context.Context, n *cluster.Node, operands []string) error {
		if len(operands) == 1 {
			return n.CrashHost(operands[0])
		}
		return n.Crash(ctx, operands[0], operands[1])
	})},
	"hosts": {0, 0, onNode(func(_ context.Context, n *cluster.Node, _ []string) error { return n.List(os.Stdout) })},
	"reboot": {1, 1, onNode(func(ctx context.Context, n *cluster.Node, operands []string) error {
		return n.Reboot(ctx, operands[0])
	})},
	"cut": {1, 3, onNode(func(_ context.Context, n *cluster.Node, operands []string) error {
		return n.CutHost(operands)
	})},
	"mend":  {0, unlimited, onNode(func(ctx context.Context, n *cluster.Node, operands []string) error { return n.Mend(ctx, operands) })},
	"drain": {1, unlimited, drain},
	"join":  {1, 1, onNode(withOther((*cluster.Node).Join))},
	"part":  {1, 1, onNode(withOther((*cluster.Node).Part))},
}

// withOther does something to a node and the one in another state folder.
func withOther(do func(*cluster.Node, context.Context, string) error) func(context.Context, *cluster.Node, []string) error {
	return func(ctx context.Context, n *cluster.Node, operands []string) error {
		folder, err := filepath.Abs(operands[0])
		if err != nil {
			return fmt.Errorf("find the other state folder: %w", err)
		}
		return do(n, ctx, folder)
	}
}

// onNode does something to a node that is up, and keeps other commands from it meanwhile.
func onNode(do func(context.Context, *cluster.Node, []string) error) func(context.Context, cluster.Layout, []string) error {
	return func(ctx context.Context, layout cluster.Layout, operands []string) error {
		// Tests that run side by side break different things.
		unlock, err := layout.Lock(30 * time.Second)
		if err != nil {
			return err
		}
		defer unlock()
		node, err := cluster.Open(layout, os.Stderr)
		if err != nil {
			return err
		}
		return do(ctx, node, operands)
	}
}

// drain lets other commands use the node at the same time, because a drain may wait until a person runs such a command.
func drain(ctx context.Context, layout cluster.Layout, operands []string) error {
	node, err := cluster.Open(layout, os.Stderr)
	if err != nil {
		return err
	}
	return node.Drain(ctx, operands[0], operands[1:])
}

// outage takes the API server away for a while.
func outage(ctx context.Context, n *cluster.Node, operands []string) error {
	var lasts time.Duration
	for _, a := range operands {
		var err error
		if lasts, err = time.ParseDuration(a); err != nil {
			return fmt.Errorf("how long is the API server to be away: %w", err)
		}
	}
	return n.RestartAPIServer(ctx, lasts)
}

func down(layout cluster.Layout) error {
	if err := checkMachine(); err != nil {
		return err
	}
	return onNode(func(_ context.Context, n *cluster.Node, _ []string) error {
		if err := n.Down(); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "node is down")
		return nil
	})(context.Background(), layout, nil)
}

func printEnvironment(layout cluster.Layout) {
	fmt.Printf("export KUBECONFIG=%s\n", layout.Kubeconfig())
	fmt.Printf("export PATH=%s:$PATH\n", layout.Programs())
}

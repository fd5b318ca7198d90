//go:build linux

// Command node brings up one real Kubernetes node on this machine, with container images of PD, a TiKV-compatible
// store, TiDB and the other components, from Go modules and Debian packages only: no container engine and no registry.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/cluster"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/debian"
	"github.com/kubectl-tidb/kubectl-tidb/test/node/image"
)

const usage = `usage: go run . <command>, in the folder test/node

  up      build what is missing, then start the node; does nothing when it is up
  api     the same with nothing but the API server: no controllers, and nowhere to run pods
  down    stop the node and remove everything of it except cached builds
  images  build the programs and images only
  outage  kill the API server and start it again, after TIME if that is given, as in 1m; pods run on
  env     print shell commands that select the node for kubectl

  load FILE             import an archive of container images
  crash NAMESPACE POD   kill the container of a pod, which gets no chance to tidy up

The state folder is /var/lib/kubectl-tidb-node, or NODE_STATE.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		os.Exit(1)
	}
}

// operands are how many each command must have, and may have.
var operands = map[string][2]int{"load": {1, 1}, "crash": {2, 2}, "outage": {0, 1}}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) == 0 {
		arguments = []string{""}
	}
	given := operands[arguments[0]]
	if n := len(arguments) - 1; n < given[0] || n > given[1] {
		fmt.Fprint(os.Stderr, usage)
		return errors.New("exactly one command is needed, and what it works on")
	}
	layout, err := cluster.NewLayout()
	if err != nil {
		return err
	}
	switch arguments[0] {
	case "up":
		return up(ctx, layout, false)
	case "api":
		return up(ctx, layout, true)
	case "down":
		return down(layout)
	case "outage":
		return outage(ctx, layout, arguments[1:])
	case "load":
		return onNode(layout, func(n *cluster.Node) error { return n.Load(ctx, arguments[1]) })
	case "crash":
		return onNode(layout, func(n *cluster.Node) error { return n.Crash(ctx, arguments[1], arguments[2]) })
	case "images":
		_, _, err := prepare(ctx)
		return err
	case "env":
		printEnvironment(layout)
		return nil
	case "attend":
		return cluster.Attend(layout)
	}
	fmt.Fprint(os.Stderr, usage)
	return fmt.Errorf("there is no command %q", arguments[0])
}

func up(ctx context.Context, layout cluster.Layout, alone bool) error {
	if err := checkMachine(); err != nil {
		return err
	}
	unlock, err := layout.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	programs, archive, err := prepare(ctx)
	if err != nil {
		return err
	}
	node, err := cluster.Open(layout, os.Stderr)
	if err != nil {
		return err
	}
	node.Programs, node.Images, node.Alone = programs, archive, alone
	if err := node.Up(ctx); err != nil {
		return err
	}
	printEnvironment(layout)
	return nil
}

func down(layout cluster.Layout) error {
	if err := checkMachine(); err != nil {
		return err
	}
	unlock, err := layout.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	node, err := cluster.Open(layout, os.Stderr)
	if err != nil {
		return err
	}
	if err := node.Down(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "node is down")
	return nil
}

// outage takes the API server away for a while.
func outage(ctx context.Context, layout cluster.Layout, arguments []string) error {
	var lasts time.Duration
	for _, a := range arguments {
		var err error
		if lasts, err = time.ParseDuration(a); err != nil {
			return fmt.Errorf("how long is the API server to be away: %w", err)
		}
	}
	return onNode(layout, func(n *cluster.Node) error { return n.RestartAPIServer(ctx, lasts) })
}

// onNode does something to a node that is up.
func onNode(layout cluster.Layout, do func(*cluster.Node) error) error {
	unlock, err := layout.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	node, err := cluster.Open(layout, os.Stderr)
	if err != nil {
		return err
	}
	return do(node)
}

// prepare builds everything that takes long.
func prepare(ctx context.Context) (build.Set, string, error) {
	if err := checkMachine(); err != nil {
		return nil, "", err
	}
	if err := debian.Ensure(ctx, os.Stderr); err != nil {
		return nil, "", err
	}
	sources, err := partsFolder()
	if err != nil {
		return nil, "", err
	}
	cache, err := build.CacheFolder()
	if err != nil {
		return nil, "", err
	}
	builder := build.Builder{Sources: sources, Cache: cache, Progress: os.Stderr}
	programs, err := builder.All(ctx, build.Parts())
	if err != nil {
		return nil, "", err
	}
	archive, err := image.Archive(programs, cache, os.Stderr)
	return programs, archive, err
}

// partsFolder finds the modules to build: they belong to the folder that this program is run in.
func partsFolder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the folder of the parts: %w", err)
	}
	parts := filepath.Join(here, "parts")
	if _, err := os.Stat(filepath.Join(parts, "kubernetes", "go.mod")); err != nil {
		return "", fmt.Errorf("run this in the folder test/node of the repository: %w", err)
	}
	return parts, nil
}

func checkMachine() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the node runs on 64-bit x86 only, this is %s", runtime.GOARCH)
	}
	if os.Geteuid() != 0 {
		return errors.New("the node needs root, for network namespaces, mounts and control groups; run it with sudo")
	}
	return nil
}

func printEnvironment(layout cluster.Layout) {
	fmt.Printf("export KUBECONFIG=%s\n", layout.Kubeconfig())
	fmt.Printf("export PATH=%s:$PATH\n", layout.Programs())
}

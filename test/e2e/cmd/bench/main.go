// Command bench measures the operations on the local node and prints what they took: beside what
// the same pods take to restart without the plugin, and beside a second driver, if one is given.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/node"
)

// The exit codes.
const (
	passed = 0
	failed = 1 // an operation or a write failed
	usage  = 2
	noNode = 3 // there is no Kubernetes here to measure on
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == spinFlag {
		spin(os.Stdin)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are what the command line says.
type options struct {
	runs   int
	driver string
	load   int
}

func parse(args []string, errOut io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.runs, "runs", 3, "how often each operation is measured")
	flags.StringVar(&o.driver, "driver", "", "a second driver, measured beside the plugin: a `command line` for sh -c, with "+placeholders)
	flags.IntVar(&o.load, "load", 0, "how many processes use up a processor each while it is measured")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.runs < 1:
		err = fmt.Errorf("-runs %d: it has to be 1 at least", o.runs)
	case o.load < 0:
		err = fmt.Errorf("-load %d: it has to be 0 at least", o.load)
	}
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
	}
	return o, err
}

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parse(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return passed
	}
	if err != nil {
		return usage
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return failed
	}
	n, err := up(ctx, root, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "bench: nothing was measured:", err)
		return noNode
	}
	if err := measureOn(ctx, n, root, o, out, errOut); err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return failed
	}
	return passed
}

// up returns a Kubernetes cluster that answers.
func up(ctx context.Context, root string, progress io.Writer) (*node.Node, error) {
	n, err := node.Up(ctx, root, progress)
	if err != nil {
		return nil, err
	}
	if _, err := n.Kube.Discovery().ServerVersion(); err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", n.Config.Host, err)
	}
	return n, nil
}

// measureOn prints what was measured also if it ends early: runs that were complete took minutes.
func measureOn(ctx context.Context, n *node.Node, root string, o options, out, progress io.Writer) error {
	binary := filepath.Join(root, "bin", "kubectl-tidb")
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the plugin is not built: run make bench: %w", err)
	}
	pods, err := dial.NewPods(n.Config)
	if err != nil {
		return err
	}
	defer pods.Close()
	b := bench{
		options: o, root: root, progress: progress,
		ours:   newTarget(n, pods, binary, "bench"),
		theirs: newTarget(n, pods, binary, "bench-driver"),
		taken:  newTarget(n, pods, binary, "bench-taken-over"),
	}
	end, err := load(ctx, o.load)
	if err != nil {
		return err
	}
	err = b.measure(ctx)
	_ = end() // an interrupt has ended them already
	b.results.print(out, o)
	return errors.Join(err, b.results.unwritten())
}

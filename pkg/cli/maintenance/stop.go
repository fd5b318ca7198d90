package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
)

// stop are the flags and the argument of "stop".
type stop struct {
	node    string
	timeout time.Duration
}

func stopCommand(f *factory.Factory, run func(context.Context, stop) error) *cobra.Command {
	var o stop
	cmd := &cobra.Command{
		Use:   "stop NODE",
		Short: "Take back what start has done, when members serve again",
		Long: `Take back what "maintenance start" has done, and nothing else: a node that was cordoned
before stays cordoned, and so does an evict-leader scheduler that was in PD before.

The node takes pods again, then the members that were on it are waited for, and then their
stores may lead regions again. After an interrupt the same command goes on.

A node that does not exist any more needs it, too: what was done for clusters with members
there is taken back, and no member is waited for.`,
		Example: `  kubectl tidb maintenance stop node-1

  # In a script, which looks for itself what is wrong after ten minutes
  kubectl tidb maintenance stop node-1 --timeout 10m`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNode(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.timeout < 0 {
				return exit.Usagef("--timeout must not be negative")
			}
			o.node = args[0]
			return run(cmd.Context(), o)
		},
	}
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop waiting after this long, e.g. 30m. Zero waits for ever.")
	return cmd
}

func (o stop) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	kube, err := f.Kube()
	if err != nil {
		return err
	}
	w := newWork(f, kube, o.node)
	defer w.close()
	return exit.Ended(ctx, w.stop(ctx, f.Streams.Out))
}

func (w *work) stop(ctx context.Context, out io.Writer) error {
	h, err := w.node.read(ctx)
	_, absent := errors.AsType[*absentError](err)
	switch {
	case err != nil && !absent:
		return err
	case h.Record == nil:
		return w.stopMarked(ctx, out, err)
	}
	if err := w.do(ctx, h.Stop()); err != nil {
		return err
	}
	fmt.Fprintf(out, "the maintenance of %s has ended\n", h.Name)
	return nil
}

// stopMarked takes back what clusters are marked with, for a node without a record. Where no cluster is marked, it
// returns the error that there is no such node, if that is so, because the name is wrong then.
func (w *work) stopMarked(ctx context.Context, out io.Writer, absent error) error {
	clusters, err := w.list(ctx)
	if err != nil {
		return err
	}
	marked := hosts.Marked(clusters)
	i := slices.IndexFunc(marked, func(h hosts.Host) bool { return h.Name == w.node.name })
	switch {
	case i < 0 && absent != nil:
		return absent
	case i < 0:
		fmt.Fprintf(out, "%s is not under maintenance; nothing was changed\n", w.node.name)
		return nil
	}
	h, why := marked[i], "its record is gone"
	if absent != nil {
		why = "the node does not exist any more"
	}
	if err := w.do(ctx, h.Stop()); err != nil {
		return err
	}
	fmt.Fprintf(out, "the maintenance of %s has ended for %s; %s, so no member was waited for\n", h.Name, strings.Join(clustersOf(h), ", "), why)
	return nil
}

// clustersOf returns the names of the clusters in the record of a node.
func clustersOf(h hosts.Host) []string {
	var all []string
	for _, c := range h.Record.Clusters {
		all = append(all, c.String())
	}
	return all
}

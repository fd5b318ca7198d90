package maintenance

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
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
stores may lead regions again. After an interrupt the same command goes on.`,
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
	bindTimeout(cmd, &o.timeout)
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
	if err != nil {
		return err
	}
	if h.Record == nil {
		fmt.Fprintf(out, "%s is not under maintenance; nothing was changed\n", h.Name)
		return nil
	}
	if err := w.do(ctx, h.Stop()); err != nil {
		return err
	}
	fmt.Fprintf(out, "the maintenance of %s has ended\n", h.Name)
	return nil
}

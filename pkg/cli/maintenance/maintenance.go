// Package maintenance is the verb that prepares a host for a reboot, and takes that back.
package maintenance

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/parent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
)

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return parent.New(&cobra.Command{
		Use:   "maintenance start|stop|list [NODE]",
		Short: "Prepare a node for a reboot, and take that back",
		Long: `Prepare a node for a reboot, or for other work on its host, and take that back.

"start" checks for all clusters with members on the node that they go on without these, and
moves leaders away. "stop" takes back what "start" has done, when the members serve again.
"list" shows which nodes are under maintenance.`,
		SuggestFor: []string{"drain", "cordon", "uncordon", "reboot"},
	},
		startCommand(f, func(ctx context.Context, o start) error { return o.run(ctx, f) }),
		stopCommand(f, func(ctx context.Context, o stop) error { return o.run(ctx, f) }),
		listCommand(f),
	)
}

// completeNode completes the name of a node as the only argument.
func completeNode(f *factory.Factory) cobra.CompletionFunc {
	nodes := target.CompleteNode(f)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return nodes(cmd, args, begin)
	}
}

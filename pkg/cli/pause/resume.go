package pause

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// NewResume makes the command "resume".
func NewResume(f *factory.Factory) *cobra.Command {
	return resumeCommand(f, func(ctx context.Context, o common) error {
		return o.each(ctx, f, func(f *factory.Factory, c *intent.Client, found topology.Cluster) (change, error) {
			return o.end(f, c, found), nil
		})
	})
}

func resumeCommand(f *factory.Factory, run func(context.Context, common) error) *cobra.Command {
	var o common
	cmd := &cobra.Command{
		Use:   "resume (NAME... | -l SELECTOR | --all)",
		Short: "End the pause of clusters",
		Long: `End the pause of clusters, and drive none of them: a daemon or a tidb-operator goes on by
itself, and where there is none, "kubectl tidb sync" does.

A pause that another user or tool has begun is ended only after you have agreed to it. A
tool that applies the TidbCluster again and again, with "paused: true", begins it again.`,
		Example: `  kubectl tidb resume basic

  # All parts of a database over several Kubernetes clusters
  kubectl tidb resume basic --contexts 'prod-*'

  # Also where others have paused, without being asked
  kubectl tidb resume --all -A --yes`,
		SuggestFor:        []string{"continue", "unpause", "unfreeze"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: target.CompleteAll(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			if err := o.validate(cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f, "Resume")
	return cmd
}

// end returns how the pause of a cluster is ended.
func (o common) end(f *factory.Factory, client *intent.Client, c topology.Cluster) change {
	if !c.Paused {
		return change{Cluster: c, result: target.Title(c) + " is not paused; nothing was changed"}
	}
	ch := change{
		Cluster: c, doing: "resume " + target.Title(c), write: client.Resume(c.Written).Write,
		result: o.done(fmt.Sprintf("%s goes on; it was %s", target.Title(c), c.Pause), fmt.Sprintf("%s would go on; it is %s", target.Title(c), c.Pause)),
		hint:   remedy.Remedy{remedy.Run("a daemon or a tidb-operator goes on by itself; where there is none", c.Plugin("sync"))},
	}
	own := c.Pause.Recorded && c.Pause.By == lease.Self().Person()
	if !own && !c.Pause.Over(f.Clock.Now()) {
		ch.asks = "it is " + c.Pause.String()
	}
	return ch
}

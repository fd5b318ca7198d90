// Package leader has the verbs with which a person decides who leads: PD, or regions.
package leader

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/act"
)

// NewTransfer makes the command "transfer-leader".
func NewTransfer(f *factory.Factory) *cobra.Command {
	return transferCommand(f, func(ctx context.Context, name, member string) error { return runTransfer(ctx, f, name, member) })
}

func transferCommand(f *factory.Factory, run func(ctx context.Context, name, member string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "transfer-leader NAME MEMBER",
		Short: "Make a member of PD its leader",
		Long: `Make a member of PD its leader, and return when it leads. MEMBER is its pod, as basic-pd-1 or
pd-1. For a part of a database that has no PD, it is a member of the part with PD.

Each change of PD's leader costs clients of the cluster one or two seconds, in which they get
no timestamps. A later change of PD by a run, such as an upgrade, may move the leader again.`,
		Example: `  # Before the host of basic-pd-0 is taken down
  kubectl tidb transfer-leader basic pd-1`,
		SuggestFor:        []string{"move-leader", "switchover", "promote"},
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completePods(f, topology.PD),
		RunE:              func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args[0], args[1]) },
	}
}

func runTransfer(ctx context.Context, f *factory.Factory, name, member string) error {
	s, _, err := target.WithPD(ctx, f, []string{name})
	if err != nil {
		return err
	}
	defer s.Close()
	seen, err := s.Observe(ctx, f)
	if err != nil {
		return err
	}
	step, err := transfer(seen.Cluster, seen.Snapshot, member)
	if err != nil {
		return err
	}
	if step == nil {
		fmt.Fprintf(f.Streams.Out, "%s leads PD already; nothing was changed\n", member)
		return nil
	}
	if err := act.New(s.Kube, s.Intent, s.Observer.PD, seen.Cluster, f.Clock.Now).Do(ctx, *step); err != nil {
		return err
	}
	fmt.Fprintf(f.Streams.Out, "%s leads PD, as %s did before\n", step.To, step.From)
	return nil
}

// completePods completes a cluster, and then its pods of a component.
func completePods(f *factory.Factory, k topology.Kind) cobra.CompletionFunc {
	clusters, pods := target.Complete(f), target.CompletePods(f, k)
	return func(cmd *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return clusters(cmd, args, begin)
		case 1:
			return pods(cmd, args, begin)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// Package sync is the verb that makes a cluster what its TidbCluster asks for.
package sync

import (
	"cmp"
	"context"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its argument.
type options struct {
	flags.Options
	watching
	fleet      fleet.Options
	restricted bool
	name       []string // the argument that names the cluster, if there is one
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "sync [NAME]",
		Short: "Take a cluster to what its TidbCluster says",
		Long: `Take a cluster to what its TidbCluster says, and change nothing of that.

Use it after "kubectl edit tc", to go on after an interruption, or to see whether
there is anything to do: a cluster that has converged is left alone.

NAME may be left out where there is only one cluster in the namespace.

With --watch it does not end: it keeps clusters as their TidbClusters say, here or
in the cluster, and leaves out those that another process drives at the moment.
Several may watch the same clusters; each cluster is driven by one of them. A
signal ends it at a safe point, with exit code 0.`,
		Example: `  kubectl tidb sync basic

  # Is there anything to do? Exits with 10 if so
  kubectl tidb sync basic --dry-run --exit-code

  # All parts of a database over several Kubernetes clusters
  kubectl tidb sync basic --contexts 'prod-*'

  # Keep all clusters of production converged
  kubectl tidb sync --watch --all-namespaces --selector env=prod`,
		SuggestFor:        []string{"reconcile"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.name = args
			if err := o.table().Check(cmd.Flags()); err != nil {
				return err
			}
			if o.on {
				if err := o.daemon(cmd.Flags()); err != nil {
					return err
				}
			}
			if err := o.Stay("sync"); err != nil {
				return err
			}
			if err := o.validateParts(cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindStop(cmd)
	o.table().Bind(cmd)
	o.fleet.BindParts(cmd, f, "Drive")
	cmd.Flags().BoolVar(&o.restricted, "restricted", false, "Refuse clusters whose pods are privileged, use the host (network, processes, folders, ports), or have a service account of their own.")
	return cmd
}

// validateParts checks the flag for all parts of a database.
func (o *options) validateParts(set *pflag.FlagSet) error {
	switch {
	case !o.fleet.Chosen():
		return nil
	case o.on:
		return exit.Usagef("--contexts does not go with --watch: run a daemon in each Kubernetes cluster")
	case len(o.name) == 0:
		return exit.Usagef("--contexts needs the name of a cluster, all parts of which are meant")
	}
	return o.fleet.ValidateParts(set, o.Options, o.name[0])
}

// daemon refuses what a daemon has no use for, or cannot do.
func (o *options) daemon(set *pflag.FlagSet) error {
	expected := flags.Table{{Name: "expect-uid"}} // a flag of all commands, about one cluster
	return cmp.Or(o.ValidateDaemon(), expected.CheckDaemon(set), o.check(o.name))
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	if o.on {
		return watch(ctx, f, o)
	}
	return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: "sync", Request: o.request})
}

// request asks for what the TidbCluster says.
func (o options) request(_ context.Context, _ *factory.Factory, s *target.Session, tc *v1alpha1.TidbCluster) (check.Request, error) {
	s.Restricted = o.restricted
	return check.Request{Action: "sync", Change: intent.Change{Now: tc, Want: tc}}, nil
}

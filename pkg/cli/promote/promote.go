// Package promote is the verb that lets a rollout go on that has stopped at a canary.
package promote

import (
	"context"
	"errors"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its argument.
type options struct {
	flags.Options
	fleet fleet.Options
	name  []string
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "promote NAME",
		Short: "Go on with a rollout that has stopped at a canary",
		Long: `Go on with a rollout that has stopped at a canary: the other members of the component are
restarted, then the components after it.

A verb with --canary restarts a few members first, and stops. Watch them, and then promote the
change, or take it back with "abort". With --canary the rollout stops once more, after more
members or at a later component.

With --contexts it goes on in all parts of a database over several Kubernetes clusters, also
in those that an earlier "promote" has begun.

It removes the annotation ` + topology.AnnotationCanary + ` from the TidbCluster. If the spec was changed
by others while the command was looking at it, nothing is changed.`,
		Example: `  kubectl tidb promote basic

  # See what that would restart
  kubectl tidb promote basic --dry-run

  # Stop once more, after three members
  kubectl tidb promote basic --canary tikv=3

  # All parts of a database over several Kubernetes clusters
  kubectl tidb promote basic --contexts 'prod-*'`,
		SuggestFor:        []string{"continue", "approve", "proceed"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.name = args
			if err := o.fleet.ValidateParts(cmd.Flags(), o.Options, args[0]); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindCanary(cmd)
	o.BindForce(cmd, "the change")
	o.fleet.BindParts(cmd, f, "Promote")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: "promote", Request: o.request})
}

// request returns what is asked for of one cluster. With several contexts a part without a canary goes on with what is
// under way, because an earlier command may have promoted the part.
func (o options) request(_ context.Context, _ *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (check.Request, error) {
	change, err := s.Intent.Promote(now)
	if err != nil {
		err = refusal(now, err)
		if o.fleet.Chosen() && exit.Of(err) == exit.Refused {
			err = &fleet.NotConcernedError{Cluster: now, Err: err, Follows: true}
		}
		return check.Request{}, err
	}
	was, _ := topology.CanaryAsked(now)
	if o.Canary == was && !o.fleet.Chosen() {
		return check.Request{}, exit.Usagef("the canary of cluster %s/%s is %s already; nothing was changed", now.Namespace, now.Name, was)
	}
	return check.Request{Action: "promote " + was, Change: change, Unrecorded: true}, nil
}

// refusal says how a rollout without a canary goes on.
func refusal(now *v1alpha1.TidbCluster, err error) error {
	if none, ok := errors.AsType[*intent.NoCanaryError](err); ok {
		return remedy.For(exit.With(exit.Refused, none), remedy.Run("what is under way goes on with", topology.New(now).Plugin("sync")))
	}
	return err
}

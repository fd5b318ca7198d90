// Package rollback is the verbs that take back what an earlier command has asked for. They take back the last
// change, or the change that is under way.
package rollback

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/upgrade"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	fleet fleet.Options
	name  []string // the argument that names the cluster
	to    string   // the version to go back to; "" for the change that is recorded
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "rollback NAME",
		Short: "Take back the last change of a cluster",
		Long: `Take back the last change that a command has made in the TidbCluster, such as an
upgrade whose image does not exist or a setting with which members do not start, and take
the cluster there. Pods of the new revision that do not start are replaced.

The change is recorded in the annotation ` + topology.AnnotationLastChange + `. It is not taken back
when the spec was changed again since, for example by a GitOps tool. A change can be taken
back once; the one before it is not recorded any more.

A lower version is refused when a newer one has run on any data: it may have changed the
data into a format that the lower one cannot read. To take back a restart removes its
annotation, so members that have restarted already restart once more.

With --to the cluster goes back to that version, also when the version it has now was not set
by a command, but by another tool. With --contexts all parts of the database go back to that
version. Without --to each part would take back a change of its own.`,
		Example: `  kubectl tidb rollback basic

  # See what that would be
  kubectl tidb rollback basic --dry-run

  # To a version, for a TidbCluster that another tool has changed
  kubectl tidb rollback basic --to v8.1.0

  # All parts of a database over several Kubernetes clusters
  kubectl tidb rollback basic --to v8.1.0 --contexts 'prod-*'`,
		SuggestFor:        []string{"undo", "revert", "downgrade"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE:              o.runE(run),
	}
	o.bind(cmd)
	o.fleet.BindParts(cmd, f, "With --to, take back")
	cmd.Flags().StringVar(&o.to, "to", "", "The version to go back to; without it the last change is taken back.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.NoFileCompletions)
	return cmd
}

func (o *options) bind(cmd *cobra.Command) {
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindForce(cmd, "going back")
}

func (o *options) runE(run func(context.Context, options) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := o.Validate(); err != nil {
			return err
		}
		o.name = args
		if err := o.fleet.ValidateParts(cmd.Flags(), o.Options, args[0]); err != nil {
			return err
		}
		return run(cmd.Context(), *o)
	}
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	if o.to != "" {
		return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: "rollback to " + o.to, Request: o.version})
	}
	if o.fleet.Chosen() {
		return exit.Usagef("--contexts needs --to, because the last change of each part can be another one: give the version to go back to")
	}
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	return takeBackLastChange(ctx, f, s, o, now, "rollback of ")
}

// takeBackLastChange takes back the last change. Verb is the beginning of what the run is called, and instead what
// can be done if there is no such change.
func takeBackLastChange(ctx context.Context, f *factory.Factory, s *target.Session, o options, now *v1alpha1.TidbCluster, verb string, instead ...remedy.Action) error {
	r, err := lastChange(s, now, verb, instead...)
	if err != nil {
		return err
	}
	return drive.Run(ctx, f, s, o.Options, r)
}

// version asks for a version to go back to. Whether that is safe, package drive decides for all verbs.
func (o options) version(_ context.Context, _ *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (check.Request, error) {
	change, err := s.Intent.SetVersion(now, o.to, nil)
	if err != nil {
		return check.Request{}, err
	}
	refusal := upgrade.Refusal(change)
	if lower, err := topology.IsDowngrade(o.to, now.Spec.Version); refusal == nil && err == nil && lower {
		refusal = remedy.For(exit.Usagef("--to %s is higher than %s, which cluster %s/%s has", o.to, now.Spec.Version, now.Namespace, now.Name),
			remedy.Run("go on to that version", topology.New(now).Plugin("upgrade", o.to)))
	}
	return check.Request{Action: "rollback to " + o.to, Change: change, Refusal: refusal, Unrecorded: true, Keep: true}, nil
}

// lastChange asks that the last change is taken back.
func lastChange(s *target.Session, now *v1alpha1.TidbCluster, verb string, instead ...remedy.Action) (check.Request, error) {
	change, last, err := s.Intent.Rollback(now)
	if none, ok := errors.AsType[*intent.NoWayBackError](err); ok {
		c := topology.New(now)
		return check.Request{}, remedy.For(exit.With(exit.Refused, none), append(instead,
			remedy.Run("go back to a version", c.Plugin("rollback", "--to", "VERSION")),
			remedy.Run("see what is asked for", c.Kubectl("get", "tidbclusters", c.Name, "-o", "yaml")))...)
	}
	if err != nil {
		return check.Request{}, err
	}
	r := check.Request{Action: verb + last.Action, Change: change, Unrecorded: true, Keep: true}
	r.Warnings = []string{fmt.Sprintf("takes back %s: %s", last, check.Differences(now, change.Want))}
	return r, nil
}

// Package plan is the verb that shows what would be done.
package plan

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/apply"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its argument.
type options struct {
	flags.Options
	files    apply.Files
	format   output.Objects
	contexts contexts.Flag
	name     []string // the argument that names the cluster, if there is one
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error {
		return o.contexts.Show(ctx, f, o.format, "Plan", func(ctx context.Context, f *factory.Factory) error { return run(ctx, f, o) })
	})
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "plan [NAME] [-f FILE]",
		Short: "See what would be done to a cluster",
		Long: `See what "sync" would do to a cluster now, or with -f or -k what "apply" would do with a
manifest. Nothing is changed.

It shows what changes in each component, all steps in the order in which they are taken if nothing
goes wrong, and what is waited for after each; how many restarts, region leaders and regions that
comes to, as far as that is known; what cannot be taken back; and what is blocked, with what can
be done about it. Verbs that change the spec
show the same with --dry-run.

The steps are those of the same decisions that a run makes, one after the other. What happens in
between is another matter: a member that does not come back stops a run, and the forecast does not
know of it.

NAME may be left out where there is only one cluster in the namespace, or in the manifest.`,
		Example: `  # What would "sync" do now?
  kubectl tidb plan basic

  # What would "apply" do?
  kubectl tidb plan -f basic.yaml

  # For a program; exits with 10 if there is anything to do
  kubectl tidb plan basic -o json --exit-code`,
		SuggestFor:        []string{"diff", "preview", "forecast"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.name = args; o.contexts.Given() && slices.Contains(o.files.Filenames, "-") {
				return exit.Usagef("standard input can be read only once, so --contexts does not go with -f -: give a file")
			}
			o.Wait, o.DryRun = true, flags.ServerDryRun
			if err := errors.Join(o.Validate(), o.format.Validate(), o.contexts.Validate(cmd.Flags())); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.files.Bind(cmd)
	o.format.Bind(cmd)
	o.contexts.Bind(cmd, f, "Show the plan")
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindStop(cmd)
	cmd.Flags().BoolVar(&o.ExitCode, "exit-code", false, "Exit with 10 when there is something to do.")
	flags.BindTimeout(cmd, &o.Timeout, time.Minute, "Give up reading the cluster after this long. Zero waits for ever.")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	s, r, err := o.request(ctx, f)
	if err != nil {
		return exit.Ended(ctx, err)
	}
	defer s.Close()
	return exit.Ended(ctx, drive.Plan(ctx, f, s, o.Options, o.format, r))
}

// request connects to the cluster, and returns what would be asked for.
func (o options) request(ctx context.Context, f *factory.Factory) (*target.Session, check.Request, error) {
	if o.files.Given() {
		return o.files.Open(ctx, f, o.name)
	}
	s, tc, err := target.Load(ctx, f, o.name)
	if err != nil {
		return nil, check.Request{}, err
	}
	// Keep: a cluster that is paused is looked at all the same, because a run may have begun something before the pause.
	return s, check.Request{Action: "sync", Change: intent.Change{Now: tc, Want: tc}, Keep: true}, nil
}

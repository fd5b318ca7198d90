// Package restart is the verb that restarts the members of components, one after another.
package restart

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// options are the verb's flags and its arguments.
type options struct {
	drive.Options
	name       []string // the argument that names the cluster
	components []topology.Kind
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "restart NAME [COMPONENT...]",
		Short: "Restart members one after another",
		Long: `Restart the members of components one after another, as in an upgrade: PD's leader
moves first, region leaders leave a TiKV store before it restarts, and each member serves
again before the next one restarts. Without COMPONENT all components are restarted, in the
order of an upgrade.

It writes the annotation tidb.pingcap.com/restartedAt of the component into the
TidbCluster. So an interrupted restart is continued with "kubectl tidb sync"; this
command, given again, restarts all members once more.`,
		Example: `  kubectl tidb restart basic tikv

  # All components, and what that would begin with
  kubectl tidb restart basic --dry-run`,
		SuggestFor:        []string{"roll", "reboot", "reload"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			var err error
			if o.components, err = parse(args[1:]); err != nil {
				return err
			}
			o.name = args[:1]
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindCanary(cmd)
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	if len(o.components) == 0 {
		for _, g := range topology.New(now).Groups {
			o.components = append(o.components, g.Kind)
		}
	}
	r := drive.Request{Action: "restart " + names(o.components)}
	r.Change, r.Refusal = s.Intent.Restart(now, o.components, f.Clock.Now())
	return s.Run(ctx, f, o.Options, r)
}

func parse(args []string) ([]topology.Kind, error) {
	var kinds []topology.Kind
	for _, arg := range args {
		kind, known := topology.ParseKind(arg)
		switch {
		case !known:
			return nil, exit.Usagef("there is no component %q; there are %s", arg, names(topology.Kinds()))
		case slices.Contains(kinds, kind):
			return nil, exit.Usagef("%s is given twice", arg)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func names(kinds []topology.Kind) string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return strings.Join(all, ", ")
}

func complete(f *factory.Factory) cobra.CompletionFunc {
	clusters := target.Complete(f)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return clusters(cmd, args, word)
		}
		var left []string
		for _, k := range topology.Kinds() {
			if !slices.Contains(args[1:], string(k)) {
				left = append(left, string(k))
			}
		}
		return left, cobra.ShellCompDirectiveNoFileComp
	}
}

package cli

import (
	"cmp"
	"errors"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/apply"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/auth"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/completion"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/config"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/create"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/daemon"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/dashboard"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/doctor"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/edit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/events"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/failover"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/install"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/leader"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/list"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/logs"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/maintenance"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/pause"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/promote"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/pvc"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/remove"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/replace"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/restart"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/rollback"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/scale"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/sql"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/status"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/sync"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/tls"
	_ "github.com/kubectl-tidb/kubectl-tidb/pkg/cli/untranslated" // the start would take twice as long
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/upgrade"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/version"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/wait"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/why"
)

const long = `Drive TiDB clusters on Kubernetes.

A command writes what you want into the TidbCluster and then, right here, takes
the cluster there: step by step, showing what it does and what it waits for.
It can be interrupted at any time; the same command goes on where it stopped.`

// NewRoot returns the command tree.
func NewRoot(f *factory.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:               "kubectl-tidb",
		Short:             "Drive TiDB clusters on Kubernetes",
		Long:              long,
		SilenceUsage:      true,
		SilenceErrors:     true,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl tidb"},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		// The root accepts any argument, to suggest a command for a misspelt one.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		PersistentPreRun:           func(cmd *cobra.Command, _ []string) { f.Names(cmd) },
		SuggestionsMinimumDistance: 2,
	}
	root.SetIn(f.Streams.In)
	root.SetOut(f.Streams.Out)
	root.SetErr(f.Streams.ErrOut)
	f.Flags.AddFlags(root.PersistentFlags())
	f.BindDial(root)
	f.BindExpect(root)
	root.PersistentFlags().BoolP("help", "h", false, "Show help for a command.")
	// No argument is a file; only some flags are, which say so.
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	completeFlags(root, f)
	addCommands(root, templates.CommandGroups{
		{Message: "Commands that drive a cluster:", Commands: []*cobra.Command{
			create.New(f), apply.New(f), edit.New(f), scale.New(f), upgrade.New(f), promote.New(f), rollback.New(f), rollback.NewAbort(f),
			restart.New(f), replace.New(f), config.New(f), sync.New(f), pause.New(f), pause.NewResume(f), failover.New(f), tls.New(f), remove.New(f),
		}},
		{Message: "Commands for members, hosts, claims and backups:", Commands: []*cobra.Command{
			leader.NewTransfer(f), leader.NewEvict(f), maintenance.New(f), pvc.New(f), backup.New(f), backup.NewRestore(f),
		}},
		{Message: "Commands that show and use clusters:", Commands: []*cobra.Command{
			status.New(f), plan.New(f), why.New(f), list.New(f), doctor.New(f), wait.New(f), logs.New(f), events.New(f), sql.New(f),
			dashboard.New(f), report.New(f),
		}},
		{Message: "Commands for the setup:", Commands: []*cobra.Command{
			install.New(f), auth.New(f), daemon.New(f), version.New(f), completion.New(f),
		}},
	})
	return root
}

// strict makes wrong arguments and missing flags a usage error, never a success.
func strict(c *cobra.Command) {
	args := c.Args
	c.Args = func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return misused(cmd, err)
		}
		if err := cmd.ValidateRequiredFlags(); err != nil {
			return misused(cmd, err)
		}
		return nil
	}
}

// misused returns an error about flags or arguments with its exit code, and with how the command is
// used.
func misused(cmd *cobra.Command, err error) error {
	if _, coded := errors.AsType[*exit.Error](err); coded {
		return err
	}
	if cmd.HasParent() {
		return exit.Usagef("%w; usage: %s; see: %s --help", err, cmd.UseLine(), cmd.CommandPath())
	}
	return exit.Usagef("%w; see: %s --help", err, cmd.CommandPath())
}

func unknownCommand(root *cobra.Command, name string) error {
	hint := ""
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = "; did you mean " + near[0] + "?"
	}
	return exit.Usagef("unknown command %q%s See all commands with: %s --help", name, cmp.Or(hint, "."), root.CommandPath())
}

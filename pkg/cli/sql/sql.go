// Package sql is the verb that sends statements to TiDB, or runs a client on a connection to it.
package sql

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// options are the verb's flags and its arguments.
type options struct {
	name     []string // the argument that names the cluster
	client   []string // arguments of the client
	execute  []string
	database string
	Access
	output format
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	o := options{output: asTable}
	cmd := &cobra.Command{
		Use:   "sql [NAME] [-- ARGUMENT...]",
		Short: "Send statements to TiDB, or open a client",
		Long: `Send statements to a TiDB server that is ready, without a Service or a port that is
forwarded by hand. In a terminal, without -e, it runs mysql or mariadb of this machine on
a connection to the server; what follows "--" are arguments of that client. Otherwise it
sends the statements of -e, or of standard input, itself, and prints their rows.

With TLS for SQL clients the connection uses the cluster's certificates. Without -p and
--password-stdin, root logs in with the first password that "spec.tidb.initializer" has
set, if its Secret is there, and else without one.

An error of TiDB ends it with exit code 1, and nothing after that statement is sent.`,
		Example: `  kubectl tidb sql basic

  kubectl tidb sql basic -e 'SELECT tidb_version()'

  # As another user, for a program
  kubectl tidb sql basic -u app -p -D shop -e 'SELECT * FROM orders LIMIT 5' -o json

  # Statements of a file
  kubectl tidb sql basic < schema.sql

  # With an argument of the client
  kubectl tidb sql basic -- --auto-rehash`,
		SuggestFor:        []string{"mysql", "psql", "query", "connect"},
		ValidArgsFunction: target.Complete(f),
		Args: func(cmd *cobra.Command, args []string) error {
			given := len(args)
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				given = dash
			}
			if given > 1 {
				return exit.Usagef("there is one cluster to name, and arguments of the client come after --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			o.name, o.client = args[:dash], args[dash:]
			if err := o.validate(f, cmd.Flags().Changed("output")); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	return cmd
}

func (o *options) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.execute, "execute", "e", nil, "Send this statement, or several with semicolons. Can be given more than once.")
	o.Bind(cmd)
	flags.StringVarP(&o.database, "database", "D", "", "The database to use.")
	flags.VarP(&o.output, "output", "o", "How rows are printed: table, json or csv.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	for _, free := range []string{"execute", "database"} {
		_ = cmd.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
}

// validate checks the command line, and what standard input is used for.
func (o *options) validate(f *factory.Factory, formatted bool) error {
	if err := o.Validate(f); err != nil {
		return err
	}
	sends := len(o.execute) > 0 || !f.Interactive()
	switch {
	case o.reads && len(o.execute) == 0:
		return exit.Usagef("--password-stdin goes with -e, since statements cannot come from standard input as well")
	case sends && len(o.client) > 0:
		return exit.Usagef("what follows -- are arguments of a client, which is run in a terminal without -e: %s", strings.Join(o.client, " "))
	case !sends && formatted:
		return exit.Usagef("-o goes with -e, or with statements on standard input")
	case slices.Contains(o.execute, ""):
		return exit.Usagef("-e is empty: give a statement")
	}
	return nil
}

// session is what a connection needs.
type session struct {
	*factory.Factory
	options
	kube    kubernetes.Interface
	members *dial.Members
	cluster topology.Cluster
}

// run connects, and sends statements or runs a client.
func run(ctx context.Context, f *factory.Factory, o options) error {
	connected, c, err := target.Cluster(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer connected.Close()
	s := session{Factory: f, options: o, kube: connected.Kube, members: dial.Of(connected.Dialer, c), cluster: c}
	statements := o.execute
	if len(statements) == 0 && !f.Interactive() {
		text, err := f.Input(ctx, io.ReadAll)
		if err != nil {
			return err
		}
		if strings.TrimSpace(string(text)) == "" {
			return exit.Usagef("there are no statements on standard input: give them there, or with -e")
		}
		statements = []string{string(text)}
	}
	if len(statements) > 0 {
		return s.send(ctx, statements)
	}
	return s.open(ctx)
}

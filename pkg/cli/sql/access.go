package sql

import (
	"context"
	dbsql "database/sql"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// Access is as whom a command logs in to TiDB, and where it has the password from.
type Access struct {
	User        string
	asks, reads bool    // for the password: in the terminal, or from standard input
	known       *string // the password, where it is known already
}

// AsRoot is the access of root, with the first password that a cluster was made with.
var AsRoot = Access{User: root}

// As returns the access of a user whose password is known.
func As(user, password string) Access { return Access{User: user, known: &password} }

// Bind adds the flags to a command.
func (a *Access) Bind(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&a.User, "user", "u", root, "The user of TiDB.")
	set.BoolVarP(&a.asks, "password", "p", false, "Ask for the password.")
	set.BoolVar(&a.reads, "password-stdin", false, "Read the password from standard input.")
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("user", cobra.NoFileCompletions)
}

// Validate checks the flags.
func (a *Access) Validate(f *factory.Factory) error {
	switch {
	case a.asks && a.reads:
		return exit.Usagef("-p does not go with --password-stdin")
	case a.asks && !f.Interactive():
		return exit.Usagef("-p asks for the password in a terminal, and there is none: give --password-stdin")
	}
	return nil
}

// Open logs in to a TiDB server of a cluster that is ready. The connections end with the session of the cluster.
func Open(ctx context.Context, f *factory.Factory, on *target.Session, c topology.Cluster, a Access) (*dbsql.DB, tidb.Login, error) {
	return session{Factory: f, options: options{Access: a}, kube: on.Kube, members: dial.Of(on.Dialer, c), cluster: c}.login(ctx)
}

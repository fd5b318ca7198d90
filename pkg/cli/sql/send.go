package sql

import (
	"context"
	dbsql "database/sql"
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
)

// send sends statements one after the other on one connection, and prints the rows of each.
func (s session) send(ctx context.Context, statements []string) error {
	shown := spin.On(s.Factory, fmt.Sprintf("connecting to TiDB of cluster %s/%s", s.cluster.Namespace, s.cluster.Name))
	if s.asks {
		shown.Stop() // the question has the line
	}
	db, _, err := s.login(ctx)
	shown.Stop()
	if err != nil {
		return err
	}
	defer db.Close()
	one, err := db.Conn(ctx) // a second connection would not know what the first has set
	if err != nil {
		return err
	}
	defer one.Close()
	for _, text := range statements {
		if err := s.query(ctx, one, text); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// query sends one text, which may have several statements.
func (s session) query(ctx context.Context, one *dbsql.Conn, text string) error {
	rows, err := one.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		if err := s.output.print(s.Streams.Out, rows); err != nil {
			return err
		}
		if !rows.NextResultSet() {
			return rows.Err()
		}
	}
}

package backup

import (
	"context"
	dbsql "database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/tidb"
)

// sums are the sums of tables.
type sums map[tidb.Table]tidb.Sum

// readSums reads all tables of a scope: as of a timestamp, or now where it is 0.
func readSums(ctx context.Context, f *factory.Factory, db *dbsql.DB, of string, scope backup.Asked, ts uint64) (sums, error) {
	conn, err := db.Conn(ctx) // a second connection would not know the timestamp
	if err != nil {
		return nil, fmt.Errorf("connect to TiDB of %s: %w", of, err)
	}
	defer conn.Close()
	from := tidb.Reader{Conn: conn}
	if err := from.Begin(ctx); err != nil {
		return nil, fmt.Errorf("read the tables of %s: %w", of, err)
	}
	if ts != 0 {
		if err := from.ReadAt(ctx, ts); err != nil {
			return nil, err
		}
	}
	tables, err := from.Tables(ctx, scope.DB, scope.Table)
	if err != nil {
		return nil, err
	}
	shown := spin.On(f, "reading the tables of "+of)
	defer shown.Stop()
	all := sums{}
	for i, t := range tables {
		shown.Say(fmt.Sprintf("reading table %s of %s (%d of %d)", t, of, i+1, len(tables)))
		if all[t], err = from.Sum(ctx, t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// rows returns how many rows the tables have.
func (s sums) rows() (all uint64) {
	for _, t := range s {
		all += t.Rows
	}
	return all
}

// differences returns what was restored otherwise, a text for each table.
func (s sums) differences(restored sums) []string {
	var all []string
	for t, was := range s {
		switch is, there := restored[t]; {
		case !there:
			all = append(all, fmt.Sprintf("table %s was not restored", t))
		case was.Rows != is.Rows:
			all = append(all, fmt.Sprintf("table %s had %d rows, and %d were restored", t, was.Rows, is.Rows))
		case was != is:
			all = append(all, fmt.Sprintf("table %s has other values", t))
		}
	}
	for t := range maps.Keys(restored) {
		if _, was := s[t]; !was {
			all = append(all, fmt.Sprintf("table %s was restored, and the cluster did not show it", t))
		}
	}
	slices.SortFunc(all, strings.Compare)
	return all
}

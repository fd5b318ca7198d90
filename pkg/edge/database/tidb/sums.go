package tidb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Table names a table of a user.
type Table struct{ Database, Name string }

func (t Table) String() string { return t.Database + "." + t.Name }

// sql returns the name as a statement has it.
func (t Table) sql() string { return identifier(t.Database) + "." + identifier(t.Name) }

func identifier(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Sum is what tells the rows of a table from other rows. Sum is of the CRC-32 of each row, so that the order of rows does
// not matter.
type Sum struct {
	Rows uint64 `json:"rows"`
	Sum  string `json:"sum"`
}

// Reader reads tables on one connection.
type Reader struct{ Conn *sql.Conn }

// Errors with which TiDB refuses to read the data of an earlier time, because garbage collection has deleted it.
const (
	tooOld    = 8055 // the time is before the safepoint
	collected = 9006 // the safepoint has passed the time of a statement that runs
)

// TooOld reports whether TiDB has no data of the time that was asked for any more.
func TooOld(err error) bool {
	refused, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (refused.Number == tooOld || refused.Number == collected)
}

// session are the settings with which two clusters give the same texts for the same values, and read all rows.
// They have global settings of their own, because BR restores no global variable.
const session = "SET time_zone = '+00:00', sql_mode = '', sql_select_limit = 18446744073709551615, max_execution_time = 0, tidb_isolation_read_engines = 'tikv,tidb'"

// everything is what the grant of a user begins with who may read all tables.
var everything = regexp.MustCompile(`(?i)^GRANT (.*, ?)?(ALL PRIVILEGES|SELECT)(,.*)? ON \*\.\* TO `)

// ErrNotAll says that a user may not read all tables. The others would be missing in both clusters, and in no comparison.
var ErrNotAll = errors.New("the user may not read all tables")

// Begin prepares the connection. It fails with ErrNotAll where the user has no right to read all tables.
func (r Reader) Begin(ctx context.Context) error {
	if _, err := r.Conn.ExecContext(ctx, session); err != nil {
		return fmt.Errorf("prepare a connection: %w", err)
	}
	rows, err := r.Conn.QueryContext(ctx, "SHOW GRANTS")
	if err != nil {
		return fmt.Errorf("read the grants of the user: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var grant string
		if err := rows.Scan(&grant); err != nil {
			return fmt.Errorf("read the grants of the user: %w", err)
		}
		if everything.MatchString(grant) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the grants of the user: %w", err)
	}
	return ErrNotAll
}

// ReadAt has the connection read the data of an earlier time, and the tables of that time. The time is a timestamp of PD.
func (r Reader) ReadAt(ctx context.Context, ts uint64) error {
	if _, err := r.Conn.ExecContext(ctx, "SET @@tidb_snapshot = '"+strconv.FormatUint(ts, 10)+"'"); err != nil {
		return fmt.Errorf("read the data of timestamp %d: %w", ts, err)
	}
	return nil
}

// Tables returns the tables of users: one table, the tables of a database, or all. Views and sequences have no rows. They
// are no part of it.
func (r Reader) Tables(ctx context.Context, db, table string) ([]Table, error) {
	rows, err := r.Conn.QueryContext(ctx, "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'")
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	defer rows.Close()
	var all []Table
	for rows.Next() {
		var t Table
		if err := rows.Scan(&t.Database, &t.Name); err != nil {
			return nil, fmt.Errorf("list the tables: %w", err)
		}
		if !isSystem(t.Database) && (db == "" || strings.EqualFold(db, t.Database)) && (table == "" || strings.EqualFold(table, t.Name)) {
			all = append(all, t)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	slices.SortFunc(all, func(a, b Table) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// Sum reads all rows of a table, and not an index that has the same columns. Other statements come before it
// (LOW_PRIORITY). A column is summed by its bytes, because texts of different character sets do not go into one text. QUOTE
// would replace bytes that are no text.
func (r Reader) Sum(ctx context.Context, t Table) (Sum, error) {
	columns, err := r.columns(ctx, t)
	if err != nil {
		return Sum{}, fmt.Errorf("read the columns of table %s: %w", t, err)
	}
	for i, c := range columns {
		columns[i] = "COALESCE(CRC32(CAST(" + identifier(c) + " AS BINARY)), 'NULL')"
	}
	var is Sum
	row := r.Conn.QueryRowContext(ctx, fmt.Sprintf(
		"SELECT LOW_PRIORITY COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS(',', %s))), 0) FROM %s USE INDEX ()", strings.Join(columns, ", "), t.sql()))
	if err := row.Scan(&is.Rows, &is.Sum); err != nil {
		return Sum{}, fmt.Errorf("read table %s: %w", t, err)
	}
	return is, nil
}

// columns returns the columns of a table in their order.
func (r Reader) columns(ctx context.Context, t Table) ([]string, error) {
	rows, err := r.Conn.QueryContext(ctx, "SHOW COLUMNS FROM "+t.sql())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name string
		var rest [5]sql.RawBytes
		if err := rows.Scan(&name, &rest[0], &rest[1], &rest[2], &rest[3], &rest[4]); err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, rows.Err()
}

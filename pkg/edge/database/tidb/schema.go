package tidb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// system are the databases of TiDB. The databases that BR makes while it restores begin with ofBR.
var system = []string{"mysql", "sys", "information_schema", "performance_schema", "metrics_schema", "inspection_schema"}

const ofBR = "__tidb_br_temporary_"

func isSystem(db string) bool {
	db = strings.ToLower(db)
	return slices.Contains(system, db) || strings.HasPrefix(db, ofBR)
}

// Holds returns a table that a TidbCluster has: the given one, any table of a database, or any table of a user. The name is
// as SQL has it, and "" where there is none. Views and sequences count as tables. The server on host is asked at its status
// port, which needs no password.
func (c *Client) Holds(ctx context.Context, host, db, table string) (what string, err error) {
	switch {
	case table != "":
		found, err := c.exists(ctx, host, "/schema/"+url.PathEscape(db)+"/"+url.PathEscape(table))
		if err != nil || !found {
			return "", err
		}
		return "table " + quoted(db) + "." + quoted(table), nil
	case db != "":
		return c.tableOf(ctx, host, db)
	}
	databases, err := c.databases(ctx, host)
	if err != nil {
		return "", err
	}
	for _, db := range databases {
		if what, err := c.tableOf(ctx, host, db); err != nil || what != "" {
			return what, err
		}
	}
	return "", nil
}

// databases returns the names of the databases of users.
func (c *Client) databases(ctx context.Context, host string) ([]string, error) {
	var all []struct {
		Name struct{ O string } `json:"db_name"`
	}
	body, err := c.schema(ctx, host, "/schema")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &all); err != nil || len(all) == 0 {
		return nil, fmt.Errorf("decode the databases of TiDB %s: %w", host, cmp.Or(err, errors.New("it names none")))
	}
	var names []string
	for _, db := range all {
		if !isSystem(db.Name.O) {
			names = append(names, db.Name.O)
		}
	}
	slices.Sort(names) // TiDB lists them in no order
	return names, nil
}

// tableOf returns the table of a database whose name comes first, because TiDB lists tables in no order. It returns ""
// where the database has none or does not exist.
func (c *Client) tableOf(ctx context.Context, host, db string) (string, error) {
	var all []struct {
		Name struct{ O string } `json:"name"`
	}
	body, err := c.schema(ctx, host, "/schema/"+url.PathEscape(db)+"?id_name_only=true") // an older server sends all of the tables
	if errors.Is(err, errUnknown) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return "", fmt.Errorf("decode the tables of database %s of TiDB %s: %w", db, host, err)
	}
	if len(all) == 0 {
		return "", nil
	}
	var names []string
	for _, table := range all {
		names = append(names, table.Name.O)
	}
	return "table " + quoted(db) + "." + quoted(slices.Min(names)), nil
}

func (c *Client) exists(ctx context.Context, host, path string) (bool, error) {
	_, err := c.schema(ctx, host, path)
	if errors.Is(err, errUnknown) {
		return false, nil
	}
	return err == nil, err
}

// errUnknown says that there is no such database or table.
var errUnknown = errors.New("it does not exist")

// codes are how TiDB begins an answer about a database or a table that does not exist.
var codes = []string{"[schema:1049]", "[schema:1146]"}

// maxSchema is how much of an answer about tables is read: some thousand tables of a usual size.
const maxSchema = 64 << 20

func (c *Client) schema(ctx context.Context, host, path string) ([]byte, error) {
	port := c.port()
	port.Body.Max = maxSchema
	answer, err := port.Get(ctx, host, path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("get the tables of TiDB %s: %w", host, err)
	case answer.Code < http.StatusBadRequest:
		return answer.Body, nil
	case slices.ContainsFunc(codes, func(code string) bool { return strings.Contains(string(answer.Body), code) }):
		return nil, errUnknown
	}
	return nil, fmt.Errorf("get the tables of TiDB %s: it answered %s", host, answer.Status)
}

// Package tidb asks a TiDB server whether it serves.
//
// It exists because a Ready pod only says that the port is open. A server is healthy when its status page answers
// below 400: the rule that tidb-operator uses for the member's health, and with it for rollouts and failover.
package tidb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// StatusPort is where TiDB serves its status page.
const StatusPort = 10080

const maxBody = 1 << 20

// Client asks TiDB servers. Scheme "" means http.
type Client struct {
	HTTP   *http.Client
	Scheme string
}

// Status is what a TiDB server reports about itself.
type Status struct {
	// Version is as MySQL clients see it, such as 8.0.11-TiDB-v8.5.0.
	Version     string `json:"version"`
	GitHash     string `json:"git_hash"`
	Connections int    `json:"connections"`
}

// Healthy reports whether the server on host answers its status page below 400. An error means that it could not be
// asked; false without an error, that it answered and is not healthy. A host without a port gets StatusPort.
func (c *Client) Healthy(ctx context.Context, host string) (bool, error) {
	answer, err := c.get(ctx, host, "/status")
	if err != nil {
		return false, err
	}
	return answer.Code < http.StatusBadRequest, nil
}

// Status returns what the server on host reports about itself.
func (c *Client) Status(ctx context.Context, host string) (*Status, error) {
	answer, err := c.get(ctx, host, "/status")
	if err != nil {
		return nil, err
	}
	if answer.Code >= http.StatusBadRequest {
		return nil, fmt.Errorf("get status of TiDB %s: it answered %s", host, answer.Status)
	}
	var s Status
	if err := json.Unmarshal(answer.Body, &s); err != nil {
		return nil, fmt.Errorf("decode status of TiDB %s: %w", host, err)
	}
	return &s, nil
}

// TableName returns the name of a table, or of a table with such a partition, as SQL has it: db.table.
func (c *Client) TableName(ctx context.Context, host string, id int64) (string, error) {
	answer, err := c.get(ctx, host, fmt.Sprintf("/db-table/%d", id))
	if err != nil {
		return "", err
	}
	if answer.Code >= http.StatusBadRequest {
		return "", fmt.Errorf("get table %d of TiDB %s: it answered %s", id, host, answer.Status)
	}
	var t struct {
		DB struct {
			Name struct{ O string } `json:"db_name"`
		} `json:"db_info"`
		Table struct {
			Name struct{ O string } `json:"name"`
		} `json:"table_info"`
	}
	if err := json.Unmarshal(answer.Body, &t); err != nil {
		return "", fmt.Errorf("decode table %d of TiDB %s: %w", id, host, err)
	}
	if t.DB.Name.O == "" || t.Table.Name.O == "" {
		return "", fmt.Errorf("TiDB %s does not name table %d", host, id)
	}
	return quoted(t.DB.Name.O) + "." + quoted(t.Table.Name.O), nil
}

// quoted returns a name in SQL. Most names need no quotes.
func quoted(name string) string {
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// DDLPaused reports whether DDL statements of users are paused for an upgrade, as a tool asks for it that begins one.
// The server on host is asked to show that, which changes nothing. One that is too old to know of it says no.
func (c *Client) DDLPaused(ctx context.Context, host string) (bool, error) {
	answer, err := c.port().Post(ctx, host, "/upgrade/show", nil)
	if err != nil {
		return false, fmt.Errorf("ask TiDB %s whether DDL is paused: %w", host, err)
	}
	// While nothing is paused it answers with a text, else with the progress of the upgrade.
	var progress struct {
		Upgraded *int `json:"upgraded_percent"`
	}
	known := json.NewDecoder(bytes.NewReader(answer.Body)).Decode(&progress) == nil
	return answer.Code < http.StatusBadRequest && known && progress.Upgraded != nil, nil
}

// resumed are the answers of TiDB to a request to end a pause of DDL: it has done that, or there was none.
var resumed = []string{"success!", "It's a duplicated operation and the cluster is already in normal state."}

// ResumeDDL ends a pause of the DDL statements of users. An answer by which TiDB may still have the pause is an error.
func (c *Client) ResumeDDL(ctx context.Context, host string) error {
	answer, err := c.port().Post(ctx, host, "/upgrade/finish", nil)
	if err != nil {
		return fmt.Errorf("ask TiDB %s to end the pause of DDL: %w", host, err)
	}
	said := ask.Text(answer.Body, resumed...)
	if answer.Code != http.StatusOK || !slices.Contains(resumed, said) {
		return fmt.Errorf("ask TiDB %s to end the pause of DDL: it answered %s", host, ask.With(answer.Status, said))
	}
	return nil
}

func (c *Client) port() ask.Port {
	return ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: StatusPort, Body: ask.Body{Max: maxBody}}
}

func (c *Client) get(ctx context.Context, host, path string) (ask.Answer, error) {
	answer, err := c.port().Get(ctx, host, path)
	if err != nil {
		return answer, fmt.Errorf("get status of TiDB %s: %w", host, err)
	}
	return answer, nil
}

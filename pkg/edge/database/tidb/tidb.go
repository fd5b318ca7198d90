// Package tidb asks a TiDB server whether it serves.
//
// It exists because a Ready pod only says that the port is open. A server is healthy when its status page answers
// below 400. That is the rule that tidb-operator uses for the member's health, and with it for rollouts and
// failover.
package tidb

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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

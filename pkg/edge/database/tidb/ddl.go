package tidb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// DDLPaused reports whether DDL statements of users are paused for an upgrade. A tool asks TiDB for such a pause
// when the upgrade begins. The server on host is asked to show that, which changes nothing. One that is too old to
// know of it says no.
func (c *Client) DDLPaused(ctx context.Context, host string) (bool, error) {
	answer, err := c.port().Post(ctx, host, "/upgrade/show", nil)
	if err != nil {
		return false, fmt.Errorf("ask TiDB %s whether DDL is paused: %w", host, err)
	}
	if answer.Code >= http.StatusBadRequest && answer.Code != http.StatusNotFound {
		return false, fmt.Errorf("ask TiDB %s whether DDL is paused: it answered %s", host, answer.Status)
	}
	// While nothing is paused it answers with a text, else with the progress of the upgrade.
	var progress struct {
		Upgraded *int `json:"upgraded_percent"`
	}
	known := json.NewDecoder(bytes.NewReader(answer.Body)).Decode(&progress) == nil
	return answer.Code == http.StatusOK && known && progress.Upgraded != nil, nil
}

// paused are the answers of TiDB to a request to pause DDL. TiDB has paused DDL, or DDL was paused already.
var paused = []string{"success!", "It's a duplicated operation and the cluster is already in upgrading state."}

// RefusedError says that TiDB has answered a request to pause DDL, and does not pause it.
type RefusedError struct{ host, said string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("TiDB %s does not pause DDL: it answered %s", e.host, e.said)
}

// CanPauseDDL returns a *RefusedError if the server on host knows no request for a pause of DDL. Such a server could
// not end a pause either. CanPauseDDL also returns an error if the server does not answer. It changes nothing.
func (c *Client) CanPauseDDL(ctx context.Context, host string) error {
	answer, err := c.port().Post(ctx, host, "/upgrade/show", nil)
	switch {
	case err != nil:
		return fmt.Errorf("ask TiDB %s whether it can pause DDL: %w", host, err)
	case answer.Code == http.StatusNotFound:
		return &RefusedError{host, answer.Status}
	}
	return nil
}

// PauseDDL pauses the DDL statements of users. A *RefusedError means that they are not paused. After any other error
// they may be paused. TiDB first notes the pause, then waits for the server that runs DDL jobs, and answers with an
// error if that server is slow. So an answer that is no success is checked.
func (c *Client) PauseDDL(ctx context.Context, host string) error {
	answer, err := c.port().Post(ctx, host, "/upgrade/start", nil)
	if err != nil {
		return fmt.Errorf("ask TiDB %s to pause DDL: %w", host, err)
	}
	said := ask.Text(answer.Body, paused...)
	if answer.Code == http.StatusOK && slices.Contains(paused, said) {
		return nil
	}
	switch is, err := c.DDLPaused(ctx, host); {
	case err != nil:
		return fmt.Errorf("ask TiDB %s to pause DDL: it answered %s: %w", host, ask.With(answer.Status, said), err)
	case is:
		return nil
	}
	return &RefusedError{host, ask.With(answer.Status, said)}
}

// resumed are the answers of TiDB to a request to end a pause of DDL. TiDB has ended the pause, or there was none.
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

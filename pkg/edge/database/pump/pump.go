// Package pump asks a Pump to close.
//
// A Pump that is closed takes no more binlog and waits until all drainers have read what the Pump has. Then it
// writes into PD's etcd that it is offline, and ends.
package pump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

const maxBody = 64 << 10

// alreadyClosing is in the answer of a Pump that was asked to close before.
const alreadyClosing = "state is closing"

// ErrRefused means that the Pump does not do what it is asked to.
var ErrRefused = errors.New("the Pump refuses")

// Client asks the Pump at an URL such as http://basic-pump-0.basic-pump.db.svc:8250.
type Client struct {
	HTTP *http.Client
	URL  string
}

// Close asks the Pump with an id to close. It answers before that is done. If another Pump has the address now,
// its id differs, and that Pump refuses. A Pump that was asked before refuses as well, since it is closing, which is
// no error here.
func (c *Client) Close(ctx context.Context, id string) error {
	var answer struct {
		Message string `json:"message"`
		Code    int    `json:"code"`
	}
	err := c.do(ctx, http.MethodPut, "/state/"+url.PathEscape(id)+"/close", &answer)
	if err == nil && answer.Code != http.StatusOK && !strings.Contains(answer.Message, alreadyClosing) {
		return fmt.Errorf("close Pump %s: %w: %s (code %d)", id, ErrRefused, ask.Words(answer.Message), answer.Code)
	}
	return err
}

func (c *Client) do(ctx context.Context, method, path string, out any) error {
	fail := func(err error) error { return fmt.Errorf("%s %s%s: %w", method, c.URL, path, err) }
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, nil)
	if err != nil {
		return fail(err)
	}
	answer, err := ask.Body{Max: maxBody}.Of(c.HTTP, req)
	if err != nil {
		return fail(err)
	}
	if answer.Code/100 != 2 {
		return fail(errors.New(ask.With(answer.Status, ask.Message(answer.Body, "message"))))
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return fail(err)
	}
	return nil
}

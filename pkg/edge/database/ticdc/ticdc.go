// Package ticdc asks TiCDC about its captures and changefeeds, and asks it to drain a capture.
//
// A capture answers for itself only its status. All other requests it passes on to the owner, so that each capture can
// be asked. While there is no owner they are answered with 503.
package ticdc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// limits bound an answer. A changefeed has about ten keys.
var limits = ask.Limits{Bytes: 4 << 20, Elements: 10_000, Keys: 200_000}

var (
	// ErrUnsupported means that this version has no such request.
	ErrUnsupported = errors.New("this version of TiCDC has no such request")
	// ErrBusy means that TiCDC cannot answer at the moment, for example since it has no owner.
	ErrBusy = errors.New("TiCDC is busy or has no owner")
)

// Client asks the capture at an URL such as http://basic-ticdc-0.basic-ticdc-peer.db.svc:8301.
type Client struct {
	HTTP *http.Client
	URL  string
}

// Status is what a capture says of itself.
type Status struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Owner   bool   `json:"is_owner"`
}

// Capture is one that TiCDC lists.
type Capture struct {
	ID      string `json:"id"`
	Owner   bool   `json:"is_owner"`
	Address string `json:"address"`
}

// Status returns what the capture says of itself.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.do(ctx, http.MethodGet, "/status", nil, &s)
	return s, err
}

// Captures lists all captures.
func (c *Client) Captures(ctx context.Context) ([]Capture, error) {
	var all []Capture
	err := c.do(ctx, http.MethodGet, "/api/v1/captures", nil, &all)
	return all, err
}

// Resign asks the owner to leave that to another capture. It answers before that has happened.
func (c *Client) Resign(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/api/v1/owner/resign", nil, nil)
}

// Drain asks TiCDC to move all tables off a capture, and returns how many it still has. To ask again changes nothing.
func (c *Client) Drain(ctx context.Context, capture string) (int, error) {
	var left struct {
		Tables *int `json:"current_table_count"`
	}
	err := c.do(ctx, http.MethodPut, "/api/v1/captures/drain", map[string]string{"capture_id": capture}, &left)
	if err == nil && left.Tables == nil {
		err = errors.New("drain a capture: TiCDC does not say how many tables are left")
	}
	if err != nil {
		return 0, err
	}
	return *left.Tables, nil
}

// changefeed is one that TiCDC lists.
type changefeed struct {
	State string `json:"state"`
}

// runs reports whether a changefeed sends changes, or would if it could.
func (f changefeed) runs() bool {
	switch f.State {
	case "stopped", "removed", "finished", "failed":
		return false
	}
	return true
}

// Changefeeds returns how many changefeeds run. Both versions of the API are asked: neither is in all releases.
func (c *Client) Changefeeds(ctx context.Context) (int, error) {
	var page struct {
		Items []changefeed `json:"items"`
	}
	err := c.do(ctx, http.MethodGet, "/api/v2/changefeeds", nil, &page)
	if errors.Is(err, ErrUnsupported) {
		err = c.do(ctx, http.MethodGet, "/api/v1/changefeeds", nil, &page.Items)
	}
	n := 0
	for _, f := range page.Items {
		if f.runs() {
			n++
		}
	}
	return n, err
}

// do sends a request and decodes the answer into out, which may be nil. What is no answer of TiCDC is an error: taken
// for an empty one, it would look as if nothing were left on a capture.
func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode a request to TiCDC: %w", err)
		}
		body = bytes.NewReader(text)
	}
	fail := func(err error) error { return fmt.Errorf("%s %s%s: %w", method, c.URL, path, err) }
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return fail(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	answer, err := ask.Body{Max: limits.Bytes}.Of(c.HTTP, req)
	switch {
	case err != nil:
		return fail(err)
	case answer.Code == http.StatusNotFound:
		return fail(ErrUnsupported)
	case answer.Code == http.StatusServiceUnavailable:
		return fail(ErrBusy)
	case answer.Code/100 != 2:
		return fail(errors.New(ask.With(answer.Status, ask.Message(answer.Body, "error_msg"))))
	case out == nil:
		return nil
	}
	if err := ask.Unmarshal(ctx, answer.Body, limits, out); err != nil {
		return fail(err)
	}
	return nil
}

// Package tiflash asks a TiFlash store whether it serves.
//
// It exists because PD hears of a store from the part of TiFlash that copies regions. That part runs also while the
// part that answers queries does not run yet.
package tiflash

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// StatusPort is where the part that copies regions serves its status.
const StatusPort = 20292

// Running is the state of a store that serves; the others are Idle, Ready, Stopping and Terminated.
const Running = "Running"

const maxBody = 1 << 10

// Client asks TiFlash stores. Scheme "" means http.
type Client struct {
	HTTP   *http.Client
	Scheme string
}

// State returns the state of the store on host. It is "" where the store's version does not report a state, which is
// so before v5.1.2.
func (c *Client) State(ctx context.Context, host string) (string, error) {
	port := ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: StatusPort, Body: ask.Body{Max: maxBody}}
	answer, err := port.Get(ctx, host, "/tiflash/store-status")
	switch {
	case err != nil:
		return "", fmt.Errorf("get state of TiFlash %s: %w", host, err)
	case answer.Code == http.StatusNotFound:
		return "", nil
	case answer.Code != http.StatusOK:
		return "", fmt.Errorf("get state of TiFlash %s: it answered %s", host, answer.Status)
	}
	return strings.TrimSpace(string(answer.Body)), nil
}

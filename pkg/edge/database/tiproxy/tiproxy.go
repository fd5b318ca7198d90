// Package tiproxy asks a TiProxy whether it serves.
//
// TiProxy's health page answers 200 while it takes new connections. While TiProxy drains its connections before it
// ends, the page answers 502 with the same body. So only the code says whether TiProxy is healthy.
package tiproxy

import (
	"context"
	"fmt"
	"net/http"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// StatusPort is where TiProxy serves its API.
const StatusPort = 3080

const maxBody = 1 << 20

// Client asks TiProxy. Scheme "" means http.
type Client struct {
	HTTP   *http.Client
	Scheme string
}

// Health is what a TiProxy answers about itself.
type Health int

// What it answers.
const (
	// Failing: it answers with an error, and does not say that it drains.
	Failing Health = iota
	// Draining: it takes no new clients, and serves those that are connected until TiProxy ends.
	Draining
	// Healthy: it takes new clients.
	Healthy
)

// Health asks the TiProxy on host. An error means that it could not be asked. A host without a port gets StatusPort.
func (c *Client) Health(ctx context.Context, host string) (Health, error) {
	port := ask.Port{HTTP: c.HTTP, Scheme: c.Scheme, Number: StatusPort, Body: ask.Body{Max: maxBody}}
	answer, err := port.Get(ctx, host, "/api/debug/health")
	if err != nil {
		return Failing, fmt.Errorf("get health of TiProxy %s: %w", host, err)
	}
	switch answer.Code {
	case http.StatusOK:
		return Healthy, nil
	case http.StatusBadGateway:
		return Draining, nil
	}
	return Failing, nil
}

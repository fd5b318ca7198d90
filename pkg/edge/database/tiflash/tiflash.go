// Package tiflash asks a TiFlash store whether it serves.
//
// It exists because PD hears of a store from the part of TiFlash that copies regions, also while the part that
// answers queries does not run yet.
package tiflash

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
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

// State returns the state of the store on host, "" where its version does not report one: those before v5.1.2 do not.
func (c *Client) State(ctx context.Context, host string) (string, error) {
	scheme := c.Scheme
	if scheme == "" {
		scheme = "http"
	}
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(host, strconv.Itoa(StatusPort))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+host+"/tiflash/store-status", nil)
	if err != nil {
		return "", fmt.Errorf("get state of TiFlash %s: %w", host, err)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", fmt.Errorf("get state of TiFlash %s: %w", host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return "", fmt.Errorf("read state of TiFlash %s: %w", host, err)
	case resp.StatusCode == http.StatusNotFound:
		return "", nil
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("get state of TiFlash %s: it answered %s", host, resp.Status)
	}
	return strings.TrimSpace(string(body)), nil
}

// Package kubeapi talks to the node's API server in plain JSON: the few calls that the node itself needs do not warrant
// a client library, which would take longer to link than the node takes to start.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/pki"
)

// Client calls an API server.
type Client struct {
	server string
	http   *http.Client
}

// Dial opens connections; nil means the ordinary way.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// New makes a client that identifies itself with a certificate of the folder.
func New(server, folder, user string, dial Dial) (*Client, error) {
	certificate, err := tls.LoadX509KeyPair(pki.Certificate(folder, user), pki.Key(folder, user))
	if err != nil {
		return nil, fmt.Errorf("load the certificate of %s: %w", user, err)
	}
	authority, err := os.ReadFile(pki.Certificate(folder, pki.AuthorityName))
	if err != nil {
		return nil, fmt.Errorf("load the certificate authority: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: roots},
		DialContext:     dial,
	}
	return &Client{server, &http.Client{Transport: transport}}, nil
}

// StatusError is an answer other than success.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the API server answered %d: %s", e.Code, e.Message)
}

// Call sends a request and decodes the answer into result unless that is nil.
func (c *Client) Call(ctx context.Context, method, path string, body, result any) error {
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(content, result); err != nil {
		return fmt.Errorf("decode the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// Watch delivers the events of a watch until it ends, which API servers make happen every few minutes.
func (c *Client) Watch(ctx context.Context, path string, event func(kind string, object json.RawMessage)) error {
	response, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for decoder := json.NewDecoder(response.Body); ; {
		var next struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&next); err != nil {
			return fmt.Errorf("watch %s: %w", path, err)
		}
		event(next.Type, next.Object)
	}
}

func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the body of %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, content)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer response.Body.Close()
		message, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		failure := &StatusError{response.StatusCode, strings.TrimSpace(string(message))}
		return nil, fmt.Errorf("%s %s: %w", method, path, failure)
	}
	return response, nil
}

package pd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/ask"
)

// Service is what PD knows of a service of PD, such as tso.
type Service struct {
	Members []ServiceMember
	// Primary is the URL of the member that does the work, "" while PD knows none. Another member takes over when the
	// primary ends.
	Primary string
}

// ServiceMember is a member of a service, as the member has registered itself. PD forgets a member that has ended after
// a few seconds.
type ServiceMember struct {
	Name    string // "" of versions before v8.3.0
	URL     string
	Version string
	// Started is when the process began, by the clock of its host.
	Started time.Time
}

// Service implements Client.
func (c *client) Service(ctx context.Context, name string) (*Service, error) {
	var members []struct {
		Name    string `json:"name"`
		URL     string `json:"service-addr"`
		Version string `json:"version"`
		Started int64  `json:"start-timestamp"`
	}
	var s Service
	err := c.call(ctx, "list members of service "+name, func(ctx context.Context, m member) error {
		members = nil
		return m.raw(ctx, request{method: http.MethodGet, path: pathServiceMembers + url.PathEscape(name), out: &members})
	})
	if err != nil {
		return nil, err
	}
	err = c.call(ctx, "read primary of service "+name, func(ctx context.Context, m member) error {
		s.Primary = ""
		return m.raw(ctx, request{method: http.MethodGet, path: pathServicePrimary + url.PathEscape(name), out: &s.Primary})
	})
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		one := ServiceMember{Name: m.Name, URL: m.URL, Version: m.Version}
		if m.Started > 0 {
			one.Started = time.Unix(m.Started, 0)
		}
		s.Members = append(s.Members, one)
	}
	return &s, nil
}

// ServiceClient asks one member of a service of PD, at an URL such as http://basic-tso-0.basic-tso-peer.db.svc:2379.
type ServiceClient struct {
	HTTP    *http.Client
	URL     string
	Service string // its name, such as tso
}

// TransferPrimary asks the primary to let the member of a name do the work. It answers before that is done.
func (c *ServiceClient) TransferPrimary(ctx context.Context, name string) error {
	body, err := json.Marshal(map[string]string{"new_primary": name})
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	answer, err := c.ask(ctx, http.MethodPost, "/"+c.Service+"/api/v1/primary/transfer", body)
	if err == nil && answer.Code/100 != 2 {
		err = errors.New(ask.With(answer.Status, ask.Text(answer.Body)))
	}
	if err != nil {
		return fmt.Errorf("move primary of %s to %s: %w", c.Service, name, err)
	}
	return nil
}

// Listens fails where the member gives no answer. Any answer will do, because whether the member serves is up to PD.
func (c *ServiceClient) Listens(ctx context.Context) error {
	_, err := c.ask(ctx, http.MethodGet, "/status", nil)
	return err
}

func (c *ServiceClient) ask(ctx context.Context, method, path string, body []byte) (ask.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return ask.Answer{}, fmt.Errorf("build request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	return ask.Body{Max: maxError}.Of(c.HTTP, req)
}

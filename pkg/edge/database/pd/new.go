package pd

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// client implements Client over HTTP.
type client struct {
	hc      *http.Client
	attempt time.Duration
	budget  time.Duration
	caller  string
	seeds   []string

	mu sync.Mutex
	// learnt are the client URLs of the members that were listed last; after PD was scaled none of the seeds may exist
	// any more.
	learnt []string
	// leader is the URL of the member that last confirmed that it leads, or empty.
	leader string
	// bootstrapped is set once it is known; it never becomes false again.
	bootstrapped bool
}

// New returns a client for one cluster's PD. It sends nothing until the first call.
func New(cfg Config) Client {
	c := &client{
		attempt: cfg.Attempt,
		budget:  cfg.Budget,
		caller:  cfg.Caller,
	}
	if c.attempt <= 0 {
		c.attempt = DefaultAttempt
	}
	if c.budget <= 0 {
		c.budget = DefaultBudget
	}
	if c.caller == "" {
		c.caller = "kubectl-tidb"
	}
	for _, u := range cfg.URLs {
		c.seeds = append(c.seeds, strings.TrimRight(u, "/"))
	}
	c.hc = dial.Client(cfg.Dial, cfg.TLS, 0) // PD's followers forward requests to the leader themselves
	if cfg.OnCall != nil {
		return reportingClient{c, cfg.OnCall}
	}
	return c
}

// Close implements Client.
func (c *client) Close() { c.hc.CloseIdleConnections() }

// member is one PD member, as the target of requests.
type member struct {
	c   *client
	url string
}

// member returns the target for a URL.
func (c *client) member(url string) member { return member{c: c, url: url} }

// urls returns every member URL known, the leader's first, without repeats.
func (c *client) urls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]string, 0, 1+len(c.seeds)+len(c.learnt))
	seen := map[string]bool{"": true}
	add := func(urls ...string) {
		for _, u := range urls {
			if !seen[hostOf(u)] {
				seen[hostOf(u)] = true
				all = append(all, u)
			}
		}
	}
	add(c.leader)
	add(c.seeds...)
	add(c.learnt...)
	return all
}

// hostOf reduces a URL to what identifies a member.
func hostOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	return strings.ToLower(strings.TrimRight(url, "/"))
}

// raw sends a request to the member.
func (m member) raw(ctx context.Context, r request) error {
	req, err := r.build(ctx, m.url)
	if err != nil {
		return err
	}
	req.Header.Set("X-Caller-ID", m.c.caller)
	resp, err := m.c.hc.Do(req)
	if err != nil {
		return err
	}
	if r.date != nil {
		*r.date, _ = http.ParseTime(resp.Header.Get("Date"))
	}
	return readResponse(resp, r.out)
}

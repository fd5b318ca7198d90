package pd

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pingcap/log"
	pdhttp "github.com/tikv/pd/client/http"
	sd "github.com/tikv/pd/client/servicediscovery"
	"go.uber.org/zap"

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
	apis   map[string]pdhttp.Client
	// bootstrapped is set once it is known; it never becomes false again.
	bootstrapped bool
}

var silence = sync.OnceFunc(func() {
	// The library writes a warning per failed request to standard output, into the result of -o json.
	log.ReplaceGlobals(zap.NewNop(), &log.ZapProperties{Level: zap.NewAtomicLevelAt(zap.FatalLevel)})
})

// New returns a client for one cluster's PD. It sends nothing until the first call.
func New(cfg Config) Client {
	silence()
	c := &client{
		attempt: cfg.Attempt,
		budget:  cfg.Budget,
		caller:  cfg.Caller,
		apis:    map[string]pdhttp.Client{},
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
	api pdhttp.Client
}

// member returns the target for a URL, with a library client that knows only this member.
func (c *client) member(url string) member {
	c.mu.Lock()
	defer c.mu.Unlock()
	api, ok := c.apis[url]
	if !ok {
		api = pdhttp.NewClientWithServiceDiscovery(c.caller, oneMember{url: url}, pdhttp.WithHTTPClient(c.hc)).
			WithCallerID(c.caller).
			WithRespHandler(readResponse)
		c.apis[url] = api
	}
	return member{c: c, url: url, api: api}
}

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

// oneMember is a service discovery that knows one member. Given all of them, the library would repeat a refused write
// on each and report the last one's error. The interface cannot be implemented from outside, because two of its methods
// have unexported parameter types; it can be embedded, and the HTTP client calls just these two.
type oneMember struct {
	sd.ServiceDiscovery
	url string
}

// GetAllServiceClients returns the one member.
func (o oneMember) GetAllServiceClients() []sd.ServiceClient {
	return []sd.ServiceClient{memberURL{url: o.url}}
}

// ScheduleCheckMemberChanged does nothing: this package finds the leader itself.
func (oneMember) ScheduleCheckMemberChanged() {}

// memberURL is the part of a service client that HTTP needs.
type memberURL struct {
	sd.ServiceClient
	url string
}

// GetURL returns where the member listens.
func (m memberURL) GetURL() string { return m.url }

// IsConnectedToLeader is only logged by the library.
func (memberURL) IsConnectedToLeader() bool { return true }

// raw sends a request that the library has no method for.
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

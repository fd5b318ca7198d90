package pd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// group is a PD group of HTTP servers in memory, behind names that resolve nowhere. It runs inside a synctest bubble,
// so its elections take no real time. Members forward to the leader as PD's do.
type group struct {
	t       *testing.T
	mu      sync.Mutex
	members map[string]*groupMember // by host:port
	leader  string                  // host:port of the member that leads; empty: none
	routes  map[string]http.HandlerFunc
	dials   int
	// starting holds the answers of members that have not started: a body, or nothing for an error.
	starting map[string]string
	// proxy, when set, is what something in front of PD answers to every request.
	proxy int
	// dialErr, when set, is the answer of every dial, and dialErrs those of dials to single members.
	dialErr  error
	dialErrs map[string]error
	// follows are the members that each one follows in Raft, by host:port, where they are not the leader.
	follows map[string]string
	applied map[string]uint64 // how much a member has applied, where that is not all
}

type groupMember struct {
	host     string
	listener memListener
	dead     bool
	hung     bool
	believes string // whom it takes for the leader when that is not the leader
	requests []string
	server   *http.Server
}

func hostName(i int) string { return fmt.Sprintf("pd-%d.pd-peer.ns.svc:2379", i) }

func newGroup(t *testing.T, n int) *group {
	t.Helper()
	g := &group{t: t, members: map[string]*groupMember{}, routes: map[string]http.HandlerFunc{}}
	g.leader = hostName(0)
	for i := range n {
		m := &groupMember{host: hostName(i), listener: memListener{make(chan net.Conn), make(chan struct{})}}
		m.server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(m, w, r) })}
		g.members[m.host] = m
		go m.server.Serve(m.listener)
	}
	g.answer("GET /pd/api/v1/version", `{"version":"v8.5.0"}`)
	return g
}

func (g *group) close() {
	for _, m := range g.members {
		m.server.Close()
	}
}

// client returns a client that knows every member of the group.
func (g *group) client(change func(*Config)) Client {
	cfg := Config{Dial: g.dial}
	for i := range len(g.members) {
		cfg.URLs = append(cfg.URLs, "http://"+hostName(i))
	}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func (g *group) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *group) handle(route string, h http.HandlerFunc) { g.set(func() { g.routes[route] = h }) }

func (g *group) answer(route, body string) {
	g.handle(route, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) })
}

func (g *group) fail(route string, code int, body string) {
	g.handle(route, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	})
}

// count returns how many requests arrived at any member, forwarded ones once, by their "METHOD path" prefix.
func (g *group) count(prefix string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, m := range g.members {
		for _, r := range m.requests {
			if strings.HasPrefix(r, prefix) {
				n++
			}
		}
	}
	return n
}

// kill ends a member hard; elect makes another the leader after PD's time without one.
func (g *group) kill(i int) {
	g.mu.Lock()
	m := g.members[hostName(i)]
	m.dead = true
	if g.leader == m.host {
		g.leader = ""
		for _, other := range g.members {
			other.believes = m.host
		}
	}
	g.mu.Unlock()
	m.server.Close()
}

func (g *group) elect(i int, after time.Duration) {
	time.AfterFunc(after, func() { g.set(func() { g.leader = hostName(i) }) })
}

var errRefused = errors.New("dial tcp: connect: connection refused")

func (g *group) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	g.mu.Lock()
	m := g.members[addr]
	err := cmp.Or(g.dialErr, g.dialErrs[addr])
	if err == nil && (m == nil || m.dead) {
		err = errRefused
	}
	g.dials++
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	select {
	case m.listener.conns <- theirs:
		return ours, nil
	case <-m.listener.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *group) serve(m *groupMember, w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	hung, leader, believes, proxy := m.hung, g.leader, m.believes, g.proxy
	route := r.Method + " " + r.URL.Path
	m.requests = append(m.requests, route)
	h := g.routes[route]
	body, starting := g.starting[m.host]
	lead := g.members[leader]
	leadHung := lead != nil && lead.hung
	g.mu.Unlock()
	if proxy != 0 {
		http.Error(w, "upstream connect error or disconnect/reset before headers", proxy)
		return
	}
	local := r.Header.Get("PD-Allow-Follower-Handle") != ""
	switch {
	case strings.HasPrefix(r.URL.Path, "/v3/") && h == nil && !hung:
		g.etcd(m, w, r)
	case starting && body == "":
		http.Error(w, "[PD:server:ErrServerNotStarted]server not started", http.StatusInternalServerError)
	case starting:
		io.WriteString(w, body)
	case hung || leadHung && !local:
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has gone
		<-r.Context().Done()
	case r.URL.Path == "/pd/api/v1/leader" && leader == "" && believes == "":
		http.Error(w, "no leader", http.StatusServiceUnavailable)
	case r.URL.Path == "/pd/api/v1/leader" && leader == "":
		json.NewEncoder(w).Encode(memberJSON(believes))
	case r.URL.Path == "/pd/api/v1/leader":
		json.NewEncoder(w).Encode(memberJSON(leader))
	case leader == "":
		http.Error(w, "[PD:apiutil:ErrRedirect]redirect failed", http.StatusInternalServerError)
	case h == nil:
		http.NotFound(w, r)
	default:
		h(w, r)
	}
}

// etcd answers for a member's etcd, which it does from memory.
func (g *group) etcd(m *groupMember, w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := func(host string) string {
		if host == "" {
			return "0"
		}
		return fmt.Sprint(memberJSON(host)["member_id"])
	}
	switch r.URL.Path {
	case "/v3/maintenance/status":
		follows, other := g.follows[m.host]
		if !other {
			follows = g.leader
		}
		applied, behind := g.applied[m.host]
		if !behind {
			applied = 100
		}
		json.NewEncoder(w).Encode(map[string]any{
			"header": map[string]any{"member_id": id(m.host)}, "leader": id(follows), "raftIndex": fmt.Sprint(applied), "raftAppliedIndex": fmt.Sprint(applied),
		})
	case "/v3/cluster/member/list":
		var list []map[string]any
		for i := range len(g.members) {
			member := memberJSON(hostName(i))
			list = append(list, map[string]any{"ID": id(hostName(i)), "name": member["name"], "clientURLs": member["client_urls"]})
		}
		list = append(list, map[string]any{"ID": "4", "name": "learner", "isLearner": true})
		json.NewEncoder(w).Encode(map[string]any{"members": list})
	default:
		http.NotFound(w, r)
	}
}

func memberJSON(host string) map[string]any {
	var i int
	fmt.Sscanf(host, "pd-%d.", &i)
	return map[string]any{
		"name": fmt.Sprintf("pd-%d", i), "member_id": 9007199254740993 + uint64(i),
		"client_urls": []string{"http://" + host},
	}
}

type memListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l memListener) Close() error   { close(l.closed); return nil }
func (l memListener) Addr() net.Addr { return &net.TCPAddr{} }

func isOneOf(err error, kinds ...error) bool {
	return slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) })
}

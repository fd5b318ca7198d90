package database

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// network connects to the members of a model in memory. It is for use in a bubble of synctest.
type network struct {
	mu     sync.Mutex
	of     *Database
	conns  chan net.Conn
	closed chan struct{}
	server *http.Server
}

func newNetwork(d *Database) *network {
	n := &network{of: d, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.server = &http.Server{Handler: n}
	go func() { _ = n.server.Serve(n) }()
	return n
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements net.Listener.
func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// Close ends the server and its connections.
func (n *network) Close() error {
	select {
	case <-n.closed:
		return nil
	default:
	}
	close(n.closed)
	return n.server.Close()
}

// target returns which member and which port an address is of.
func (n *network) target(addr string) (k topology.Kind, ordinal, port int, ok bool) {
	host, text, _ := net.SplitHostPort(addr)
	port, _ = strconv.Atoi(text)
	pod, _, _ := strings.Cut(host, ".")
	k, ordinal, ok = n.of.cluster.Member(pod)
	return k, ordinal, port, ok
}

// DialContext connects to a member.
func (n *network) DialContext(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	reach := Nowhere
	if k, ordinal, port, ok := n.target(addr); ok {
		reach = n.of.Port(k, ordinal, port)
	} else if host, _, _ := strings.Cut(addr, ":"); true {
		if _, answers := n.of.Elsewhere(host); answers {
			reach = Open
		}
	}
	n.mu.Unlock()
	switch reach {
	case Open:
		ours, theirs := net.Pipe()
		n.conns <- theirs
		return ours, nil
	case Refused:
		return nil, &dial.ForwardError{Pod: addr, Reason: dial.Refused}
	case Silent:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, &dial.ForwardError{Pod: addr, Reason: dial.PodNotRunning, Err: errors.New("it has no address")}
}

// ServeHTTP answers for the member that a request is for.
func (n *network) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k, ordinal, port, ok := n.target(r.Host); ok {
		n.of.Handler(k, ordinal, port).ServeHTTP(w, r)
		return
	}
	host, _, _ := strings.Cut(r.Host, ":")
	by, _ := n.of.Elsewhere(host)
	by.ServeHTTP(w, r)
}

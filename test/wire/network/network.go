// Package network makes connections in memory between a process and servers. HTTP is spoken on them as on a real
// network.
//
// Connections are pipes, so that a test with a clock of its own (testing/synctest) knows when all wait.
package network

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
)

// Reach is what a connection to an address meets.
type Reach int

// What a connection can meet.
const (
	Open    Reach = iota // a server accepts
	Refused              // the host answers that nothing listens
	Silent               // nothing answers
)

// Server is what answers on an open port. It speaks plain HTTP where TLS is nil.
type Server struct {
	http.Handler
	TLS *tls.Config
}

// Resolve returns what is at an address, which is a host with a port. It also returns what answers there if the port is
// open. Resolve is asked for each connection.
type Resolve func(ctx context.Context, address string) (Reach, Server)

// Network makes connections and keeps them until their server has gone.
type Network struct {
	resolve Resolve

	mu    sync.Mutex
	lines map[*line]struct{}
}

// New returns a network.
func New(resolve Resolve) *Network { return &Network{resolve: resolve, lines: map[*line]struct{}{}} }

// line is a connection, with the address that it was made to.
type line struct {
	address string
	server  net.Conn
}

// DialContext connects to an address. Where nothing answers it waits for the end of ctx, as a real network does.
func (n *Network) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	reach, at := n.resolve(ctx, address)
	switch reach {
	case Refused:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case Silent:
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	client, server := net.Pipe()
	if at.TLS != nil {
		server = tls.Server(server, at.TLS)
	}
	l := &line{address: address, server: server}
	n.mu.Lock()
	n.lines[l] = struct{}{}
	n.mu.Unlock()
	accepts := &listener{conns: make(chan net.Conn, 1)}
	accepts.conns <- ended{server, func() { n.forget(l); accepts.end() }}
	go func() { _ = (&http.Server{Handler: at, Protocols: protocols()}).Serve(accepts) }()
	return client, nil
}

// protocols are those that servers speak: HTTP/2 is for gRPC.
func protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetUnencryptedHTTP2(true)
	return p
}

func (n *Network) forget(l *line) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.lines, l)
}

// Reset ends the connections to the addresses that are chosen, as the end of a process does.
func (n *Network) Reset(chosen func(address string) bool) {
	n.mu.Lock()
	var all []*line
	for l := range n.lines {
		if chosen(l.address) {
			all = append(all, l)
		}
	}
	n.mu.Unlock()
	for _, l := range all {
		_ = l.server.Close()
	}
}

// listener hands out one connection, and ends when the connection does.
type listener struct {
	conns chan net.Conn
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	if c, open := <-l.conns; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l *listener) end() { l.once.Do(func() { close(l.conns) }) }

func (l *listener) Close() error   { l.end(); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// ended is a connection that says when it is closed.
type ended struct {
	net.Conn
	over func()
}

func (c ended) Close() error {
	c.over()
	return c.Conn.Close()
}

package dial

import (
	"context"
	"net"
	"sync"
	"time"
)

// lazy is a connection that is opened by its first write.
//
// http.Transport opens a connection for each request that finds none idle. When another connection becomes idle
// first, the new one goes to the pool unused. PD and TiDB recognise the protocol by the first bytes of a connection
// and do not stop while they wait for them. So a member with one unused connection needs all of its grace period to
// stop, and is then killed. Measured are 30 s instead of 2 s.
type lazy struct {
	addr    address
	open    func(context.Context) (net.Conn, error)
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	first   sync.Once
	opened  chan struct{} // closed once conn or err is set
	conn    net.Conn
	err     error
	mu      sync.Mutex
	pending []func(net.Conn) error // deadlines set before there was a connection
}

// Lazy returns a function whose connections are opened by dial when they are first written to. An error of dial is then
// the error of that write.
func Lazy(dial func(ctx context.Context, network, addr string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(_ context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithCancel(context.Background())
		return &lazy{
			addr: address{network, addr}, ctx: ctx, cancel: cancel, opened: make(chan struct{}),
			open: func(ctx context.Context) (net.Conn, error) { return dial(ctx, network, addr) },
		}, nil
	}
}

func (l *lazy) connect() {
	defer close(l.opened)
	ctx, cancel := context.WithTimeout(l.ctx, connectTimeout)
	defer cancel()
	conn, err := l.open(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.ctx.Err() != nil { // closed in between
		_ = conn.Close()
		conn, err = nil, net.ErrClosed
	}
	for _, set := range l.pending {
		if err == nil {
			err = set(conn)
		}
	}
	l.conn, l.err = conn, err
}

// Write opens the connection if it is not open yet.
func (l *lazy) Write(b []byte) (int, error) {
	l.first.Do(l.connect)
	<-l.opened
	if l.err != nil {
		return 0, l.err
	}
	return l.conn.Write(b)
}

// Read waits until a write has opened the connection: there is no answer before a request.
func (l *lazy) Read(b []byte) (int, error) {
	select {
	case <-l.opened:
	case <-l.ctx.Done():
		return 0, net.ErrClosed
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.conn.Read(b)
}

// Close closes the connection, or prevents that it is opened.
func (l *lazy) Close() error {
	l.cancel()
	l.first.Do(func() { l.err = net.ErrClosed; close(l.opened) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return nil
	}
	return l.conn.Close()
}

func (l *lazy) later(set func(net.Conn) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		return set(l.conn)
	}
	l.pending = append(l.pending, set)
	return nil
}

func (l *lazy) SetDeadline(t time.Time) error {
	return l.later(func(c net.Conn) error { return c.SetDeadline(t) })
}

func (l *lazy) SetReadDeadline(t time.Time) error {
	return l.later(func(c net.Conn) error { return c.SetReadDeadline(t) })
}

func (l *lazy) SetWriteDeadline(t time.Time) error {
	return l.later(func(c net.Conn) error { return c.SetWriteDeadline(t) })
}

// LocalAddr and RemoteAddr both return the dialled address, which is known before there is a
// connection.
func (l *lazy) LocalAddr() net.Addr  { return l.addr }
func (l *lazy) RemoteAddr() net.Addr { return l.addr }

// address is a name that was dialled.
type address struct{ network, name string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.name }

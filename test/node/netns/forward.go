package netns

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"time"
)

// Dialer opens connections inside a namespace for a program that runs outside of it.
type Dialer struct{ requests chan request }

type request struct {
	ctx     context.Context
	address string
	answer  chan<- answer
}

type answer struct {
	conn net.Conn
	err  error
}

// NewDialer puts one thread into the namespace, which opens all connections: only the opening of a socket depends on
// the thread, not its use.
func NewDialer(namespace Namespace) (*Dialer, error) {
	dialer := &Dialer{requests: make(chan request)}
	entered := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := namespace.enter()
		entered <- err
		if err == nil {
			dialer.serve()
		}
	}()
	return dialer, <-entered
}

const dialTimeout = 5 * time.Second

func (d *Dialer) serve() {
	for request := range d.requests {
		// The address must be a literal: the resolver and the race of several addresses use other threads, and those
		// are not in the namespace.
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(request.ctx, "tcp", request.address)
		request.answer <- answer{conn, err}
	}
}

// Dial connects to a literal address inside the namespace.
func (d *Dialer) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	answers := make(chan answer, 1)
	select {
	case d.requests <- request{ctx, address, answers}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	got := <-answers
	return got.conn, got.err
}

// Forward gives every connection of a listener to an address inside the namespace, until the listener is closed.
func (d *Dialer) Forward(ctx context.Context, listener net.Listener, address string) error {
	for {
		outside, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept on the forwarded port: %w", err)
		}
		go func() {
			inside, err := d.Dial(ctx, "tcp", address)
			if err != nil {
				outside.Close()
				return
			}
			join(outside, inside)
		}()
	}
}

// join copies both ways and passes on the end of each direction by itself: a watch that is half closed still delivers.
func join(a, b net.Conn) {
	defer a.Close()
	defer b.Close()
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
}

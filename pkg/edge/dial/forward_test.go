package dial

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// echo is a server that answers each line with the same line.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	return l
}

// TestForward: each connection has one of its own behind it, one that cannot be opened ends alone,
// and all end with the context.
func TestForward(t *testing.T) {
	server := echo(t)
	local, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var dials atomic.Int32
	refusals, over := make(chan error, 1), make(chan struct{})
	refused := errors.New("refused")
	go func() {
		defer close(over)
		Forward(ctx, local, func(ctx context.Context) (net.Conn, error) {
			if dials.Add(1) == 1 {
				return nil, refused
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Addr().String())
		}, func(err error) { refusals <- err })
	}()
	open := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", local.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c, bufio.NewReader(c)
	}
	_, first := open()
	if _, err := first.ReadByte(); !errors.Is(err, io.EOF) || !errors.Is(<-refusals, refused) {
		t.Errorf("the connection that could not be opened: %v", err)
	}
	second, answers := open()
	_, _ = io.WriteString(second, "hello\n")
	if line, err := answers.ReadString('\n'); err != nil || line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	<-over
	if _, err := answers.ReadByte(); err == nil {
		t.Error("a connection is left")
	}
}

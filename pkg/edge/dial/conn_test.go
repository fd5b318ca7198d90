package dial

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"testing"
)

// tcp serves each connection with f behind port 4000.
func tcp(t *testing.T, a *apiServer, f func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				f(c)
			}()
		}
	}()
	a.set(func() { a.ports[4000] = l.Addr().String() })
}

func TestBytesWrittenBeforeCloseArrive(t *testing.T) {
	a, p := newAPIServer(t)
	sums := make(chan string, 1)
	tcp(t, a, func(c net.Conn) {
		h := sha256.New()
		io.Copy(h, c)
		sums <- fmt.Sprintf("%x", h.Sum(nil))
	})
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for range 20 {
		conn, err := p.Forward(t.Context(), "ns", "basic-pd-0", 4000)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(data); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if got, want := <-sums, fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
			t.Fatal("the peer got something else")
		}
	}
}

func TestPeerClosesFirst(t *testing.T) {
	a, p := newAPIServer(t)
	data := bytes.Repeat([]byte("x"), 3<<20)
	tcp(t, a, func(c net.Conn) { c.Write(data) })
	for range 20 {
		conn, err := p.Forward(t.Context(), "ns", "basic-pd-0", 4000)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(data), err)
		}
		conn.Close()
	}
}

func TestReaderTooSlow(t *testing.T) {
	a, p := newAPIServer(t)
	done := make(chan struct{})
	tcp(t, a, func(c net.Conn) {
		defer close(done)
		chunk := make([]byte, 1<<20)
		for range 2 * maxUnread / len(chunk) {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	})
	a.listen(2379, echoPath())
	conn, err := p.Forward(t.Context(), "ns", "basic-pd-0", 4000)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-done
	_, err = io.Copy(io.Discard, conn)
	wantReason(t, err, Overrun)
	if _, err := get(client(t, p), "http://"+pd0); err != nil {
		t.Errorf("the pod's other connections fail: %v", err)
	}
}

package dial

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxUnread is how many bytes of a peer may be unread.
	maxUnread = 64 << 20
	// errorDelay is how late the error stream may end after the data stream: two workers deliver them.
	errorDelay = 2 * time.Second
)

// conn is one forwarded connection. Streams know no deadlines, so the caller has one end of a pipe. Three goroutines
// move the data between its other end and the stream.
type conn struct {
	net.Conn // the caller's end of the pipe
	t        target
	failure  atomic.Pointer[ForwardError]
	end      func()
}

func newConn(st streams, t target) *conn {
	user, inner := net.Pipe()
	c := &conn{Conn: user, t: t}
	in := newInbox()
	c.end = sync.OnceFunc(func() {
		inner.Close()
		in.finish()
		go st.end() // writes two frames, which blocks if the network is down
	})
	go c.receive(st, in)
	go func() { // to the caller
		defer c.end()
		for chunk := in.take(); chunk != nil; chunk = in.take() {
			if _, err := inner.Write(chunk); err != nil {
				return
			}
		}
	}()
	go func() { // to the pod
		if _, err := io.Copy(st.data, inner); err == nil {
			c.end() // the caller closed, and its last bytes are sent. After an error there may be an answer to read.
		}
	}()
	return c
}

// receive reads what the pod sends from the stream at once, also if the caller does not read it. Streams have no
// flow control, and six unread ones (measured) block every new stream of the pod for 30 s.
func (c *conn) receive(st streams, in *inbox) {
	defer in.finish()
	buf := make([]byte, 32<<10)
	for {
		n, err := st.data.Read(buf)
		if n > 0 && !in.put(buf[:n]) {
			c.failure.Store(c.t.fail(Overrun, nil))
			c.end()
			return
		}
		if err != nil {
			break
		}
	}
	if text := st.said(); text != "" {
		c.failure.Store(c.t.failText(text))
	}
	if !st.s.alive() {
		c.failure.CompareAndSwap(nil, c.t.fail(Unreachable, errors.New("the connection to the API server was lost")))
	}
}

// failText returns the error for a text of the kubelet or the container runtime, which have no
// codes. For "refused" the text is left out: it would add 500 characters of paths.
func (t target) failText(text string) *ForwardError {
	switch {
	case strings.Contains(text, "connection refused"):
		return t.fail(Refused, nil)
	case strings.Contains(text, "not running"), strings.Contains(text, "not found"):
		return t.fail(PodNotRunning, errors.New(strings.TrimSpace(text)))
	}
	return t.fail(Unreachable, errors.New(strings.TrimSpace(text)))
}

// Read reads what the pod sent. It returns the error if the pod could not be connected to, which is
// known only then.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	return n, c.explain(err)
}

// Write sends to the pod.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	return n, c.explain(err)
}

func (c *conn) explain(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		if failure := c.failure.Load(); failure != nil {
			return failure
		}
	}
	return err
}

// LocalAddr returns an empty address, since the connection starts in the pod.
func (c *conn) LocalAddr() net.Addr { return target{} }

// RemoteAddr names the pod.
func (c *conn) RemoteAddr() net.Addr { return c.t }

// inbox holds what has arrived and was not read yet.
type inbox struct {
	mu     sync.Mutex
	ready  sync.Cond
	chunks [][]byte
	size   int
	done   bool
}

func newInbox() *inbox {
	in := &inbox{}
	in.ready.L = &in.mu
	return in
}

// put adds a copy of b, or returns false if that is too much.
func (in *inbox) put(b []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.size+len(b) > maxUnread {
		return false
	}
	in.chunks = append(in.chunks, append([]byte(nil), b...))
	in.size += len(b)
	in.ready.Signal()
	return true
}

// take waits for the next chunk; nil means that there are no more.
func (in *inbox) take() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	for len(in.chunks) == 0 {
		if in.done {
			return nil
		}
		in.ready.Wait()
	}
	chunk := in.chunks[0]
	in.chunks[0] = nil
	in.chunks = in.chunks[1:]
	in.size -= len(chunk)
	return chunk
}

func (in *inbox) finish() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.done = true
	in.ready.Broadcast()
}

package dial

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/streaming/pkg/httpstream"
)

// streamTimeout is how long opening a stream may take before its connection counts as dead. The library waits 30 s, and
// every later dial would wait as long. A stream to a container that is just starting may never open; PD's new leader
// was then seen only when this time was over.
const streamTimeout = 2 * time.Second

// session is the shared connection to one pod.
type session struct {
	uid  types.UID
	late bool // it was opened when the pod was ending already
	up   upgraded
	next atomic.Int64 // request ids must be unique in a connection, otherwise streams of two requests are paired
	once sync.Once
	// ended is closed with our first close; the connection itself may end later.
	ended chan struct{}

	mu     sync.Mutex
	users  int
	unused *time.Timer // runs while there are no users
	// spare is called when the last user is gone.
	spare func(*session)
}

func newSession(uid types.UID, up upgraded, spare func(*session)) *session {
	s := &session{uid: uid, up: up, ended: make(chan struct{}), spare: spare}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unused = time.AfterFunc(Idle, s.closeUnused)
	return s
}

// hold keeps the session until the function that it returns is called. A session that nobody holds is closed after a
// while, or when there are many. Each session takes nearly a megabyte here, most of it for the compression of SPDY's
// headers. A session also takes a connection of the API server and of a kubelet. A run may wait for hours in a
// cluster of hundreds of pods.
func (s *session) hold() (free func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	s.unused.Stop()
	return sync.OnceFunc(func() {
		if s.release() == 0 {
			s.spare(s)
		}
	})
}

// release ends one use, and returns how many are left.
func (s *session) release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.unused.Reset(Idle)
	}
	return s.users
}

func (s *session) alive() bool {
	select {
	case <-s.ended:
		return false
	case <-s.up.conn.CloseChan():
		return false
	default:
		return true
	}
}

// close ends the connection and all its streams. It does not wait, since that can take long if the
// network is down.
func (s *session) close() {
	s.once.Do(func() {
		close(s.ended)
		go s.up.close()
	})
}

// streams are the two streams of one forwarded connection.
type streams struct {
	s            *session
	data, errors httpstream.Stream
	text         chan string // what the error stream said, when it has ended
	free         func()      // ends the hold of the session
}

// end resets both streams. A close would leave the streams, and with them the connection, open until the pod has
// closed its side.
func (st streams) end() {
	if st.free != nil {
		defer st.free()
	}
	if st.data != nil {
		_ = st.data.Reset()
	}
	if st.errors != nil {
		_ = st.errors.Reset()
	}
	st.s.up.conn.RemoveStreams(st.present()...)
}

func (st streams) present() []httpstream.Stream {
	var list []httpstream.Stream
	for _, s := range []httpstream.Stream{st.data, st.errors} {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// open makes a connection to a port. Creating streams takes no context, so it runs in a goroutine of its own. That
// goroutine can last for the library's 30 s if the connection ends in between.
func (s *session) open(ctx context.Context, t target) (net.Conn, error) {
	type result struct {
		st  streams
		err error
	}
	done := make(chan result, 1)
	go func() {
		st, err := s.create(t)
		done <- result{st, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return newConn(r.st, t), nil
	case <-s.ended:
		go func() { (<-done).st.end() }()
		return nil, t.fail(Unreachable, errors.New("the connection to the API server was closed"))
	case <-ctx.Done():
		go func() { (<-done).st.end() }()
		return nil, t.fail(Unreachable, ctx.Err())
	}
}

// create opens the error stream, then the data stream, as the protocol requires.
func (s *session) create(t target) (streams, error) {
	stuck := time.AfterFunc(streamTimeout, s.close)
	defer stuck.Stop()
	st := streams{s: s, free: s.hold()}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(t.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.FormatInt(s.next.Add(1), 10))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	var err error
	if st.errors, err = s.up.conn.CreateStream(headers); err != nil {
		st.free()
		return streams{s: s}, t.fail(Unreachable, err)
	}
	st.errors.Close() // we never write to it
	st.text = make(chan string, 1)
	go func() { // from the start: an unread stream blocks others, data streams included
		b, _ := io.ReadAll(io.LimitReader(st.errors, 64<<10))
		st.text <- string(b)
	}()
	headers = headers.Clone()
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if st.data, err = s.up.conn.CreateStream(headers); err != nil {
		st.data = nil
		failure := t.fail(Unreachable, err)
		// A refusal may be faster than the acknowledgement of the stream: then it has said why.
		if text := st.said(); text != "" {
			failure = t.failText(text)
		}
		st.end()
		return streams{s: s}, failure
	}
	return st, nil
}

// said returns what the error stream said, and waits for its end as long as it may be late.
func (st streams) said() string {
	select {
	case s := <-st.text:
		return s
	case <-time.After(errorDelay):
		return ""
	}
}

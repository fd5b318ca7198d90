package memoryapi

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// Transport sends requests to a handler in the same process, without a network: a test with a clock of its
// own (testing/synctest) cannot wait for a connection.
type Transport struct {
	http.Handler
}

// RoundTrip implements http.RoundTripper. It returns when the handler has begun to answer, and the body
// goes on as the handler writes it.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(r.Context())
	read, write := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = write.CloseWithError(ctx.Err()) })
	w := &answer{header: http.Header{}, body: write, begun: make(chan struct{})}
	sent := r.Clone(ctx)
	if sent.Body == nil {
		sent.Body = http.NoBody
	}
	go func() {
		defer end()
		t.ServeHTTP(w, sent)
		w.WriteHeader(http.StatusOK)
		stop()
		_ = write.Close()
	}()
	select {
	case <-w.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &http.Response{StatusCode: w.code, Header: w.header, Body: body{read, end}, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// answer is what a handler writes.
type answer struct {
	header http.Header
	body   io.Writer
	once   sync.Once
	code   int
	begun  chan struct{} // closed when the status is known
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(code int) {
	a.once.Do(func() {
		a.header, a.code = a.header.Clone(), code
		close(a.begun)
	})
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Flush implements http.Flusher: whatever is written is read at once.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// body ends the request of a client that reads no further, as a server does whose connection is closed.
type body struct {
	*io.PipeReader
	end context.CancelFunc
}

func (b body) Close() error {
	b.end()
	return b.PipeReader.Close()
}

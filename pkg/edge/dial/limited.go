package dial

import (
	"context"
	"io"
	"net/http"
	"time"
)

// limited is a transport that gives each request a limit of time, 0 for none. Each request whose time is over fails
// with the same error. The limit of http.Client gives one of several errors by chance: the request was canceled, the
// deadline has passed, or the error of the connection. Gates of a run contain errors of members, and a text that
// changes would be reported as news.
type limited struct {
	*http.Transport
	limit time.Duration
}

// RoundTrip implements http.RoundTripper. The limit also holds for reading the body.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := r.Context(), func() {}
	if l.limit > 0 {
		ctx, end = context.WithTimeout(ctx, l.limit)
		r = r.WithContext(ctx)
	}
	resp, err := l.Transport.RoundTrip(r)
	if err != nil {
		if at, is := ctx.Deadline(); is && !time.Now().Before(at) {
			err = context.DeadlineExceeded
		}
		end()
		return nil, err
	}
	resp.Body = ending{resp.Body, end}
	return resp, nil
}

// Limit returns the limit.
func (l limited) Limit() time.Duration { return l.limit }

// ending is a body with which a limit ends.
type ending struct {
	io.ReadCloser
	end func()
}

func (e ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

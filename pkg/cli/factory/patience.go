package factory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// firstAnswer is how long an API server may take for its first answer. Without this limit a command would wait half
// a minute for a server behind a VPN that is down. For a server behind a load balancer without a backend the command
// would wait for ever.
const firstAnswer = 10 * time.Second

// laterAnswer is how long an API server that has answered before may take. The list of a big cluster takes long, but API
// servers end requests after a minute. Without this limit a daemon would wait for ever for an answer that is lost, and
// would keep the lease of its cluster meanwhile.
const laterAnswer = 90 * time.Second

// patient limits the wait for an answer.
type patient struct {
	next     http.RoundTripper
	limit    time.Duration // 0: no limit
	each     bool          // the limit is for each request, not only until the first answer
	answered *atomic.Bool
}

// limitOf returns how long the answer to a request may take, 0 for any time.
func (p patient) limitOf(r *http.Request) time.Duration {
	switch {
	case p.limit == 0, p.each, !p.answered.Load():
		return p.limit
	case isLongRunning(r):
		return 0
	}
	return laterAnswer
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := p.limitOf(r)
	if limit == 0 {
		response, err := p.next.RoundTrip(r)
		if err == nil {
			p.answered.Store(true)
		}
		return response, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(limit, func() { cancel(silence(limit)) })
	response, err := p.next.RoundTrip(r.WithContext(ctx))
	timer.Stop()
	if err == nil {
		p.answered.Store(true)
		if response.StatusCode != http.StatusSwitchingProtocols { // which needs the body as it is
			response.Body = untilClosed{response.Body, cancel}
		}
		return response, nil
	}
	if silent, is := errors.AsType[silence](context.Cause(ctx)); is {
		err = silent
	}
	cancel(nil)
	return nil, err
}

// untilClosed is the body of an answer. The context of the request ends when the body is closed, and not before: the body
// is read with the context. Without an end, a daemon would keep the context of each request.
type untilClosed struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b untilClosed) Close() error {
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// silence is the error of a request without an answer in this time. It counts as a timeout of package net.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(s)) }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

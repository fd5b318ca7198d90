package factory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// firstAnswer is how long an API server may take for its first answer. Without this limit a command would wait half
// a minute for a server behind a VPN that is down. For a server behind a load balancer without a backend the command
// would wait for ever.
const firstAnswer = 10 * time.Second

// patient limits the wait for a server that has never answered. A server that has answered before
// may be slow: the list of a big cluster takes long, and a watch has no end.
type patient struct {
	next     http.RoundTripper
	limit    time.Duration // 0: no limit
	each     bool          // the limit is for each request, not only until the first answer
	answered *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.limit == 0 || !p.each && p.answered.Load() {
		response, err := p.next.RoundTrip(r)
		if err == nil {
			p.answered.Store(true)
		}
		return response, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(p.limit, func() { cancel(silence(p.limit)) })
	response, err := p.next.RoundTrip(r.WithContext(ctx))
	timer.Stop()
	if err == nil {
		// The context must not end here: the body of the answer is read with it.
		p.answered.Store(true)
		return response, nil
	}
	if silent, is := errors.AsType[silence](context.Cause(ctx)); is {
		err = silent
	}
	cancel(nil)
	return nil, err
}

// silence is the error of a request without an answer in this time. It counts as a timeout of package net.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(s)) }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

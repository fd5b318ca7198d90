package factory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// firstAnswer is how long an API server may take for its first answer. Without
// it, a server behind a VPN that is down would be waited for half a minute, and
// one behind a load balancer that has lost it for ever.
const firstAnswer = 10 * time.Second

// errSilent is the error of a request without an answer.
var errSilent = fmt.Errorf("no answer within %v", firstAnswer)

// patient gives up on a server that has not answered at all. One that has
// answered before may take its time: the list of a big cluster is slow, and a
// watch ends when it ends.
type patient struct {
	next     http.RoundTripper
	limit    time.Duration
	answered *atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.answered.Load() {
		return p.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(p.limit, func() { cancel(errSilent) })
	response, err := p.next.RoundTrip(r.WithContext(ctx))
	timer.Stop()
	if err == nil {
		// The context has to live on: the answer's body is read under it.
		p.answered.Store(true)
		return response, nil
	}
	if errors.Is(context.Cause(ctx), errSilent) {
		err = silence{}
	}
	cancel(nil)
	return nil, err
}

// silence is a timeout to whoever looks at errors of package net.
type silence struct{}

func (silence) Error() string   { return errSilent.Error() }
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

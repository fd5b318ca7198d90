// Package clock tells the time as the API server does.
//
// A member is given up when it has been down for some minutes, and an eviction ends
// when its time is over. When that began is written down by Kubernetes, by PD, or by
// another process of ours; a laptop or a node whose own clock is minutes ahead would
// see it as over at once. So the time that is decided by is that of the API server,
// which dates every answer.
package clock

import (
	"net/http"
	"sync"
	"time"
)

// precision is that of a date in an answer, which is cut off.
const precision = time.Second

// Clock is the time of an API server. Until there is an answer, and as long as it is
// not known to be wrong, it is the process's own. It is safe for concurrent use.
type Clock struct {
	local func() time.Time

	mu sync.Mutex
	// At the local time at, it was that time there. Between two answers it goes on by
	// the local clock that never jumps: somebody may be about to set the other one right.
	at, there time.Time
}

// New makes a clock that goes by a local one, time.Now but in tests.
func New(local func() time.Time) *Clock { return &Clock{local: local} }

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.when(c.local())
}

// when it is there at a local time.
func (c *Clock) when(local time.Time) time.Time {
	if c.at.IsZero() {
		c.at, c.there = local, local.Round(0)
	}
	return c.there.Add(local.Sub(c.at))
}

// heard takes note of an answer that was dated between two local times. A clock that
// may be right, as far as the answer tells, stays as it is.
func (c *Clock) heard(date, asked, answered time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	soonest, latest := date, date.Add(precision+answered.Sub(asked))
	switch now := c.when(answered); {
	case now.Before(soonest):
		c.at, c.there = answered, soonest
	case now.After(latest):
		c.at, c.there = answered, latest
	}
}

// Listen has the clock hear the answers of a transport.
func (c *Clock) Listen(next http.RoundTripper) http.RoundTripper { return listener{next, c} }

type listener struct {
	next  http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := l.clock.local()
	response, err := l.next.RoundTrip(r)
	if err != nil || response.StatusCode >= http.StatusInternalServerError {
		return response, err // a proxy on the way may have said so, by its own clock
	}
	if date, unread := http.ParseTime(response.Header.Get("Date")); unread == nil {
		l.clock.heard(date, asked, l.clock.local())
	}
	return response, nil
}

// Package clock provides the time of the API server.
//
// A member is given up when it has been down for some minutes, and an eviction ends when its time
// is over. The begin of such a period is recorded by Kubernetes, by PD, or by another process of
// ours. A laptop or a node whose own clock is minutes ahead would see the period as over at once.
// So decisions use the time of the API server, which is in the Date header of every answer.
package clock

import (
	"net/http"
	"sync"
	"time"
)

// precision is the precision of the date in an answer, which is truncated.
const precision = time.Second

// Clock has the time of an API server. It uses the process's own clock until an answer shows that
// this clock is wrong. It is safe for concurrent use.
type Clock struct {
	local func() time.Time

	mu sync.Mutex
	// At the local time at, the API server's time was there. Between two answers the monotonic
	// local clock is used, since the wall clock may be corrected then.
	at, there time.Time
}

// New returns a clock that is based on a local one: time.Now, or another one in tests.
func New(local func() time.Time) *Clock { return &Clock{local: local} }

// Now returns the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.when(c.local())
}

// when returns the API server's time at a local time.
func (c *Clock) when(local time.Time) time.Time {
	if c.at.IsZero() {
		c.at, c.there = local, local.Round(0)
	}
	return c.there.Add(local.Sub(c.at))
}

// noteDate takes the date of an answer, which was written between two local times. The clock is not
// changed where the answer does not show that it is wrong.
func (c *Clock) noteDate(date, asked, answered time.Time) {
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

// Listen returns a transport from whose answers the clock takes the date.
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
		return response, err // it may be the answer of a proxy, with the proxy's own time
	}
	if date, unread := http.ParseTime(response.Header.Get("Date")); unread == nil {
		l.clock.noteDate(date, asked, l.clock.local())
	}
	return response, nil
}

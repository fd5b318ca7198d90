package factory

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// refusing is an API server that is away for the first requests.
type refusing struct {
	away, asked int
	err         error
}

var (
	errAway    = fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED)
	errUnknown = x509.UnknownAuthorityError{}
)

func (s *refusing) RoundTrip(*http.Request) (*http.Response, error) {
	if s.asked++; s.asked <= s.away {
		return nil, s.err
	}
	return &http.Response{StatusCode: http.StatusOK}, nil
}

// TestRewatching: a watch is there again two seconds after the API server is. Other requests fail at once, and so does a
// watch before the server has ever answered.
func TestRewatching(t *testing.T) {
	const pods = "https://api/api/v1/pods"
	for _, c := range []struct {
		name, url, method string
		answered          bool
		away, asked       int
		fails             bool
	}{
		{"a watch", pods + "?resourceVersion=7&watch=true", http.MethodGet, true, 30, 31, false},
		{"a watch of a server that is there", pods + "?watch=1", http.MethodGet, true, 0, 1, false},
		{"a watch of a server that has never answered", pods + "?watch=true", http.MethodGet, false, 30, 1, true},
		{"a list", pods, http.MethodGet, true, 30, 1, true},
		{"a list that says so", pods + "?watch=false", http.MethodGet, true, 30, 1, true},
		{"a write", pods + "?watch=true", http.MethodPost, true, 30, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var answered atomic.Bool
				answered.Store(c.answered)
				s := &refusing{away: c.away, err: errAway}
				begun := time.Now()
				_, err := rewatching{s, &answered}.RoundTrip(request(t.Context(), t, c.method, c.url)) //nolint:bodyclose // there is none
				if errors.Is(err, errAway) != c.fails || s.asked != c.asked {
					t.Errorf("%v after %d requests, want %d", err, s.asked, c.asked)
				}
				if took := time.Since(begun); took > time.Duration(c.asked)*2*watchAgain {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestRewatchingFails: an error that does not pass by itself is left to the caller.
func TestRewatchingFails(t *testing.T) {
	var answered atomic.Bool
	answered.Store(true)
	s := &refusing{away: 1000, err: errUnknown}
	_, err := rewatching{s, &answered}.RoundTrip(request(t.Context(), t, http.MethodGet, "https://api/api/v1/pods?watch=true")) //nolint:bodyclose // there is none
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) || s.asked != 1 {
		t.Errorf("%v after %d requests", err, s.asked)
	}
}

// TestRewatchingEnds: nobody waits for a watch any more.
func TestRewatchingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered atomic.Bool
		answered.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s := &refusing{away: 1000, err: errAway}
		_, err := rewatching{s, &answered}.RoundTrip(request(ctx, t, http.MethodGet, "https://api/api/v1/pods?watch=true")) //nolint:bodyclose // there is none
		if !errors.Is(err, errAway) || s.asked < 30 || s.asked > 61 {
			t.Errorf("%v after %d requests", err, s.asked)
		}
	})
}

// TestLimitOf: only requests that the API server ends by itself have a limit once the server has answered.
func TestLimitOf(t *testing.T) {
	const pods = "https://api/api/v1/namespaces/db/pods"
	var answered, silent atomic.Bool
	answered.Store(true)
	for _, c := range []struct {
		name, url string
		p         patient
		want      time.Duration
	}{
		{"the first answer", pods, patient{limit: firstAnswer, answered: &silent}, firstAnswer},
		{"a watch before the first answer", pods + "?watch=true", patient{limit: firstAnswer, answered: &silent}, firstAnswer},
		{"a later answer", pods, patient{limit: firstAnswer, answered: &answered}, laterAnswer},
		{"a watch", pods + "?watch=true", patient{limit: firstAnswer, answered: &answered}, 0},
		{"a log that is followed", pods + "/basic-pd-0/log?follow=true", patient{limit: firstAnswer, answered: &answered}, 0},
		{"a log", pods + "/basic-pd-0/log?follow=false", patient{limit: firstAnswer, answered: &answered}, laterAnswer},
		{"a tunnel", pods + "/basic-pd-0/portforward", patient{limit: firstAnswer, answered: &answered}, 0},
		{"a command", pods + "/basic-pd-0/exec?command=sh", patient{limit: firstAnswer, answered: &answered}, 0},
		{"each request has the limit", pods, patient{limit: time.Second, each: true, answered: &answered}, time.Second},
		{"--request-timeout is the limit", pods, patient{answered: &answered}, 0},
	} {
		if got := c.p.limitOf(request(t.Context(), t, http.MethodGet, c.url)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func request(ctx context.Context, t *testing.T, method, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

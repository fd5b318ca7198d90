package tiproxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// tidb-B6: only 200 is healthy. tidb-operator takes 404, 502 and 503 for healthy.
func TestHealth(t *testing.T) {
	for code, want := range map[int]Health{200: Healthy, 502: Draining, 204: Failing, 302: Failing, 400: Failing, 404: Failing, 500: Failing, 503: Failing} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/debug/health" {
				t.Errorf("path %s", r.URL.Path)
			}
			w.WriteHeader(code)
			io.WriteString(w, `{"config_checksum":2757687599}`)
		}))
		defer s.Close()
		c := &Client{HTTP: s.Client()}
		c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if got, err := c.Health(t.Context(), strings.TrimPrefix(s.URL, "http://")); err != nil || got != want {
			t.Errorf("%d: Health() = %v, %v", code, got, err)
		}
	}
}

func TestUnreachableIsNotUnhealthy(t *testing.T) {
	c := &Client{Scheme: "https", HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.String() != "https://basic-tiproxy-0.basic-tiproxy-peer.ns.svc:3080/api/debug/health" {
			t.Errorf("asked %s", r.URL)
		}
		return nil, io.ErrUnexpectedEOF
	})}}
	if got, err := c.Health(t.Context(), "basic-tiproxy-0.basic-tiproxy-peer.ns.svc"); err == nil || got != Failing {
		t.Errorf("Health() = %v, %v", got, err)
	}
	c.HTTP.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(broken{})}, nil
	})
	if got, err := c.Health(t.Context(), "x"); err == nil || got == Healthy {
		t.Errorf("half an answer: Health() = %v, %v", got, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

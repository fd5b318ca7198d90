package tidb

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func serve(t *testing.T, code int, body string) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" {
			t.Errorf("path %s", r.URL.Path)
		}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return &Client{HTTP: s.Client()}, strings.TrimPrefix(s.URL, "http://")
}

const page = `{"connections":7,"version":"8.0.11-TiDB-v8.5.0","git_hash":"abc","status":{"init_stats_percentage":100}}`

func TestStatus(t *testing.T) {
	c, host := serve(t, 200, page)
	s, err := c.Status(t.Context(), host)
	if err != nil || *s != (Status{Version: "8.0.11-TiDB-v8.5.0", GitHash: "abc", Connections: 7}) {
		t.Errorf("Status() = %+v, %v", s, err)
	}
}

func TestHealthy(t *testing.T) {
	for code, want := range map[int]bool{200: true, 302: true, 400: false, 404: false, 500: false, 503: false} {
		c, host := serve(t, code, "not JSON")
		c.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if got, err := c.Healthy(t.Context(), host); err != nil || got != want {
			t.Errorf("%d: Healthy() = %v, %v", code, got, err)
		}
		if _, err := c.Status(t.Context(), host); err == nil {
			t.Errorf("%d: no status is not an error", code)
		}
	}
}

func TestUnreachableIsNotUnhealthy(t *testing.T) {
	hc := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.URL.String() != "https://basic-tidb-0.basic-tidb-peer.ns.svc:10080/status" {
			t.Errorf("asked %s", r.URL)
		}
		return nil, io.ErrUnexpectedEOF
	})}
	c := &Client{HTTP: hc, Scheme: "https"}
	if got, err := c.Healthy(t.Context(), "basic-tidb-0.basic-tidb-peer.ns.svc"); err == nil || got {
		t.Errorf("Healthy() = %v, %v", got, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

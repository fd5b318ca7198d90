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

// TestResumeDDL: only an answer by which there is no pause any more is a success.
func TestResumeDDL(t *testing.T) {
	for name, tt := range map[string]struct {
		code int
		body string
		ends bool
	}{
		"it ended":          {200, `"success!"`, true},
		"as plain text":     {200, "success!", true},
		"there was none":    {200, `"It's a duplicated operation and the cluster is already in normal state."`, true},
		"it is refused":     {200, `"upgrading failed"`, false},
		"another operation": {200, `"It's a duplicated operation and the cluster is already in upgrading state."`, false},
		"it fails":          {500, `"success!"`, false},
		"it does not know":  {404, "404 page not found", false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/upgrade/finish" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(tt.code)
			io.WriteString(w, tt.body)
		}))
		if err := (&Client{HTTP: s.Client()}).ResumeDDL(t.Context(), strings.TrimPrefix(s.URL, "http://")); (err == nil) != tt.ends {
			t.Errorf("%s: %v", name, err)
		}
		s.Close()
	}
}

// TestDDLPaused: what TiDB answers in both states, and what one answers that does not know of it.
func TestDDLPaused(t *testing.T) {
	for body, want := range map[string]bool{
		`{"servers_num":3,"owner_id":"a","upgraded_percent":0}"success!"`: true,
		`"The cluster state is normal.""success!"`:                        false,
		`[schema]wrong operation:`:                                        false,
		`{}`:                                                              false,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/upgrade/show" {
				t.Errorf("%s %s", r.Method, r.URL.Path)
			}
			io.WriteString(w, body)
		}))
		c := &Client{HTTP: s.Client()}
		if got, err := c.DDLPaused(t.Context(), strings.TrimPrefix(s.URL, "http://")); err != nil || got != want {
			t.Errorf("%s: %t, %v", body, got, err)
		}
		s.Close()
	}
	c := &Client{HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })}}
	if _, err := c.DDLPaused(t.Context(), "basic-tidb-0"); err == nil {
		t.Error("no answer is not an error")
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

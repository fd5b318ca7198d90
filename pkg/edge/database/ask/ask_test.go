package ask

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
)

func port(t *testing.T, serve http.HandlerFunc) (Port, string) {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return Port{HTTP: s.Client(), Number: 1, Body: Body{Max: 8}}, strings.TrimPrefix(s.URL, "http://")
}

// TestAnswer: a code of an error is an answer, and a connection is used again after any answer.
func TestAnswer(t *testing.T) {
	opened := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			opened++
		}
	}})
	p, host := port(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(503)
		}
		_, _ = io.WriteString(w, "1234")
	})
	for path, want := range map[string]Answer{"/whole": {Code: 200, Status: "200 OK"}, "/broken": {Code: 503, Status: "503 Service Unavailable"}} {
		if got, err := p.Get(ctx, host, path); err != nil || got.Code != want.Code || got.Status != want.Status || string(got.Body) != "1234" {
			t.Errorf("%s: %+v, %v", path, got, err)
		}
	}
	if opened != 1 {
		t.Errorf("%d connections", opened)
	}
}

// TestPartOfAnAnswer: what is longer than it may be, and what ends too early, is no answer: half of it could look like
// a whole one.
func TestPartOfAnAnswer(t *testing.T) {
	p, host := port(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early" {
			w.Header().Set("Content-Length", "1000")
		}
		_, _ = io.WriteString(w, "123456789")
	})
	if got, err := p.Get(t.Context(), host, "/"); err == nil || !strings.Contains(err.Error(), "more than 8 bytes") {
		t.Errorf("%q, %v", got.Body, err)
	}
	p.Body.Max = 1000
	if got, err := p.Get(t.Context(), host, "/early"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half an answer: %q, %v", got.Body, err)
	}
	p.Body.Keep = func(io.Reader) ([]byte, error) { return []byte("a part"), nil }
	if got, err := p.Get(t.Context(), host, "/"); err != nil || string(got.Body) != "a part" {
		t.Errorf("%q, %v", got.Body, err)
	}
}

// TestURL: the port and the scheme are those of the component, unless the host has a port.
func TestURL(t *testing.T) {
	refused := errors.New("refused")
	for want, p := range map[string]struct {
		scheme, host string
	}{
		"http://a.b:1/c":   {"", "a.b"},
		"https://a.b:1/c":  {"https", "a.b"},
		"http://a.b:2/c":   {"", "a.b:2"},
		"http://[::1]:1/c": {"", "::1"},
	} {
		var asked string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return nil, refused
		})}
		_, err := Port{HTTP: client, Scheme: p.scheme, Number: 1}.Get(t.Context(), p.host, "/c")
		if asked != want || !errors.Is(err, refused) {
			t.Errorf("asked %s, want %s, %v", asked, want, err)
		}
	}
	if _, err := (Port{HTTP: http.DefaultClient}).Get(t.Context(), "a b", "/"); err == nil {
		t.Error("there is no such host")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package tiflash

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestState(t *testing.T) {
	for name, tt := range map[string]struct {
		code   int
		body   string
		want   string
		failed bool
	}{
		"it serves":              {200, "Running", Running, false},
		"it starts":              {200, "Idle\n", "Idle", false},
		"it does not report one": {404, "no such page", "", false},
		"it fails":               {500, "Running", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/tiflash/store-status" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.WriteHeader(tt.code)
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			c := Client{HTTP: server.Client()}
			got, err := c.State(t.Context(), strings.TrimPrefix(server.URL, "http://"))
			if got != tt.want || (err != nil) != tt.failed {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c := Client{HTTP: http.DefaultClient, Scheme: "https"}
	if _, err := c.State(t.Context(), strings.TrimPrefix(server.URL, "http://")); err == nil {
		t.Error("a closed port has answered")
	}
	if _, err := c.State(t.Context(), "a b"); err == nil {
		t.Error("there is no such host")
	}
}

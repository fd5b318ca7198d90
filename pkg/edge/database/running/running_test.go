package running

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// asked returns a client all of whose connections lead to one server.
func asked(t *testing.T, answer http.HandlerFunc) Client {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	var d net.Dialer
	return Client{HTTP: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return d.DialContext(ctx, network, s.Listener.Addr().String())
	}}}}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		kind topology.Kind
		at   string
	}{{topology.PD, "basic-0:2379/pd/api/v1/config"}, {topology.TiKV, "basic-0:20180/config"}, {topology.TiDB, "basic-0:10080/config"}} {
		c := asked(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.Host+r.URL.Path != tt.at {
				t.Errorf("%s %s%s", r.Method, r.Host, r.URL.Path)
			}
			fmt.Fprint(w, `{"log":{"level":"info","file":{"max-days":7}},"split":true}`)
		})
		got, err := c.Settings(t.Context(), tt.kind, "basic-0")
		if want := map[string]any{"log.level": "info", "log.file.max-days": 7.0, "split": true}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", tt.kind, got, err)
		}
	}
}

// TestNotRead: what is no configuration is an error, and never an empty one.
func TestNotRead(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"a page":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
	} {
		c := asked(t, answer)
		if got, err := c.Settings(t.Context(), topology.TiKV, "basic-0"); err == nil || !strings.Contains(err.Error(), "get the configuration of TiKV basic-0") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := (Client{}).Settings(t.Context(), topology.TiFlash, "basic-0"); !errors.Is(err, ErrNotShown) {
		t.Errorf("%v", err)
	}
}

func TestChange(t *testing.T) {
	code := http.StatusOK
	var sent string
	c := asked(t, func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		_, _ = fmt.Fprint(&b, r.Method, " ", r.Host, r.URL.Path, " ", r.Header.Get("Content-Type"), " ")
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		sent = b.String() + string(body[:n])
		w.WriteHeader(code)
		fmt.Fprint(w, `"config item not found"`)
	})
	if err := c.Change(t.Context(), topology.PD, "basic-0", map[string]any{"schedule.x": 8}); err != nil {
		t.Error(err)
	}
	if want := `POST basic-0:2379/pd/api/v1/config application/json {"schedule.x":8}`; sent != want {
		t.Errorf("sent %q", sent)
	}
	sent = ""
	for _, k := range []topology.Kind{topology.TiKV, topology.TiFlash} {
		if err := c.Change(t.Context(), k, "basic-0", map[string]any{"log.level": "warn"}); !errors.Is(err, ErrNotKept) || sent != "" {
			t.Errorf("%s: %v, sent %q", k, err, sent)
		}
	}
	if err := c.Change(t.Context(), topology.TiFlash, "basic-0", nil); !errors.Is(err, ErrNotShown) {
		t.Errorf("%v", err)
	}
	code = http.StatusBadRequest
	if err := c.Change(t.Context(), topology.PD, "basic-0", nil); err == nil || !strings.Contains(err.Error(), "config item not found") {
		t.Errorf("%v", err)
	}
}

package ticdc

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// answers returns a client of a TiCDC that answers requests with a code and a body, 404 to all others.
func answers(t *testing.T, request string, code int, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		sent, _ := io.ReadAll(in.Body)
		if got := strings.TrimSpace(in.Method + " " + in.URL.Path + " " + string(sent)); got != request {
			http.NotFound(out, in)
			return
		}
		out.WriteHeader(code)
		_, _ = io.WriteString(out, body)
	}))
	t.Cleanup(server.Close)
	return &Client{HTTP: server.Client(), URL: server.URL}
}

func TestStatus(t *testing.T) {
	c := answers(t, "GET /status", 200, `{"version":"v8.1.0","git_hash":"x","id":"a","pid":1,"is_owner":true}`)
	if s, err := c.Status(t.Context()); err != nil || s != (Status{"a", "v8.1.0", true}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestCaptures(t *testing.T) {
	c := answers(t, "GET /api/v1/captures", 200, `[{"id":"a","is_owner":true,"address":"x:8301"},{"id":"b","is_owner":false,"address":"y:8301"}]`)
	all, err := c.Captures(t.Context())
	if err != nil || len(all) != 2 || all[0] != (Capture{"a", true, "x:8301"}) || all[1].Owner {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := answers(t, "", 0, "").Captures(t.Context()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a version without the request: %v", err)
	}
	if _, err := answers(t, "GET /api/v1/captures", 503, `{}`).Captures(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("there is no owner: %v", err)
	}
}

// TestDrain (tidb-B14): no answer but that of a drain says how many tables are left.
func TestDrain(t *testing.T) {
	const request = `PUT /api/v1/captures/drain {"capture_id":"a"}`
	if n, err := answers(t, request, 202, `{"current_table_count":7}`).Drain(t.Context(), "a"); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := answers(t, request, 202, `{"current_table_count":0}`).Drain(t.Context(), "a"); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for body, code := range map[string]int{`{}`: 202, ``: 202, `[]`: 200, `{"error_msg":"only one capture alive"}`: 400, `{"error_msg":"x"}`: 500, `null`: 200} {
		if _, err := answers(t, request, code, body).Drain(t.Context(), "a"); err == nil {
			t.Errorf("%d %s: it counts as drained", code, body)
		}
	}
	if _, err := answers(t, request, 400, `{"error_msg":"only one capture alive"}`).Drain(t.Context(), "a"); !strings.Contains(err.Error(), "only one capture alive") {
		t.Error(err)
	}
	if _, err := answers(t, request, 502, "bad\ngateway").Drain(t.Context(), "a"); !strings.HasSuffix(err.Error(), "502 Bad Gateway") {
		t.Error(err)
	}
}

func TestResign(t *testing.T) {
	if err := answers(t, "POST /api/v1/owner/resign", 202, "").Resign(t.Context()); err != nil {
		t.Error(err)
	}
	if err := answers(t, "", 0, "").Resign(t.Context()); !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

// TestChangefeeds: those that were stopped need no capture.
func TestChangefeeds(t *testing.T) {
	const list = `[{"id":"a","state":"normal"},{"id":"b","state":"stopped"},{"id":"c","state":"warning"},{"id":"d","state":"finished"},{"id":"e","state":"failed"}]`
	if n, err := answers(t, "GET /api/v2/changefeeds", 200, `{"total":5,"items":`+list+`}`).Changefeeds(t.Context()); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := answers(t, "GET /api/v1/changefeeds", 200, list).Changefeeds(t.Context()); n != 2 || err != nil {
		t.Errorf("before v2: %d, %v", n, err)
	}
	if _, err := answers(t, "GET /api/v2/changefeeds", 503, "").Changefeeds(t.Context()); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	c := answers(t, "", 0, "")
	c.URL = "http://127.0.0.1:1"
	if _, err := c.Status(t.Context()); err == nil {
		t.Error("nothing listens there")
	}
}

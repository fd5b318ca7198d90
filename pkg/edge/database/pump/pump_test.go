package pump

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// answers returns a client of a Pump that answers one request with a code and a body, 404 to all others.
func answers(t *testing.T, request string, code int, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		if in.Method+" "+in.URL.Path != request {
			http.NotFound(out, in)
			return
		}
		out.WriteHeader(code)
		_, _ = io.WriteString(out, body)
	}))
	t.Cleanup(server.Close)
	return &Client{HTTP: server.Client(), URL: server.URL}
}

// TestClose: only an answer that says so means that the Pump closes.
func TestClose(t *testing.T) {
	const request = "PUT /state/basic-pump-0:8250/close"
	if err := answers(t, request, 200, `{"message":"apply action close success!","code":200,"data":null}`).Close(t.Context(), "basic-pump-0:8250"); err != nil {
		t.Error(err)
	}
	if err := answers(t, request, 200, `{"message":"nodeID is not match","code":400,"data":null}`).Close(t.Context(), "basic-pump-0:8250"); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	for body, code := range map[string]int{`{}`: 200, `x`: 200, `{"code":200}`: 502} {
		if err := answers(t, request, code, body).Close(t.Context(), "basic-pump-0:8250"); err == nil {
			t.Errorf("%d %s: no error", code, body)
		}
	}
}

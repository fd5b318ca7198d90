package pd

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPing(t *testing.T) {
	code := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pd/api/v1/ping" || r.Header.Get("PD-Allow-Follower-Handle") != "true" {
			t.Errorf("asked %s with %v", r.URL, r.Header)
		}
		w.WriteHeader(code)
	}))
	if err := Ping(t.Context(), server.Client(), server.URL); err != nil {
		t.Error(err)
	}
	code = http.StatusInternalServerError
	if err := Ping(t.Context(), server.Client(), server.URL); err == nil {
		t.Error("an error of the member is no answer")
	}
	server.Close()
	if err := Ping(t.Context(), server.Client(), server.URL); err == nil {
		t.Error("nothing listens")
	}
}

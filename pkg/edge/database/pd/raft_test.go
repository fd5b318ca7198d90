package pd

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAskRaft: numbers are strings, and those that are 0 are left out, as the gateway of etcd writes them.
func TestAskRaft(t *testing.T) {
	for body, want := range map[string]Raft{
		`{"header":{"cluster_id":"69","member_id":"13748733880775208433","raft_term":"4"},"version":"3.4.31","leader":"5724","raftIndex":"722","raftAppliedIndex":"721"}`: {
			Member: 13748733880775208433, Leader: 5724, Committed: 722, Applied: 721,
		},
		`{"header":{"member_id":"9"}}`: {Member: 9},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/v3/maintenance/status" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			_, _ = w.Write([]byte(body))
		}))
		if got, err := AskRaft(t.Context(), server.Client(), server.URL); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		server.Close()
	}
}

func TestNoRaft(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an error":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"no JSON":     func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("pong")) },
		"other types": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"leader":{}}`)) },
	} {
		server := httptest.NewServer(answer)
		if got, err := AskRaft(t.Context(), server.Client(), server.URL); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
		server.Close()
	}
	if _, err := AskRaft(t.Context(), http.DefaultClient, "http://127.0.0.1:1"); err == nil {
		t.Error("nobody listens, and no error")
	}
}

package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestCommandHeaders: requests say which command they are from, all of one command with the same
// session, unless KUBECTL_COMMAND_HEADERS says that they shall not.
func TestCommandHeaders(t *testing.T) {
	for value, want := range map[string]string{"": "kubectl-tidb list", "1": "kubectl-tidb list", "0": "", "false": ""} {
		var mu sync.Mutex
		sessions := map[string]bool{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if got := r.Header.Get("Kubectl-Command"); got != want {
				t.Errorf("KUBECTL_COMMAND_HEADERS=%s: %q", value, got)
			}
			sessions[r.Header.Get("Kubectl-Session")] = true
			http.NotFound(w, r)
		}))
		streams, _, _, _ := genericiooptions.NewTestIOStreams()
		env := func(name string) string { return map[string]string{"KUBECTL_COMMAND_HEADERS": value}[name] }
		run(t.Context(), strings.Fields("list --server "+server.URL), streams, env)
		server.Close()
		if len(sessions) != 1 || sessions[""] != (want == "") {
			t.Errorf("KUBECTL_COMMAND_HEADERS=%s: sessions %v", value, sessions)
		}
	}
}

package lease

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A laptop sleeps after a step has read, and before it writes: its requests are not sent, whatever the
// method. It may still read. Work without a lease is not hindered.
func TestNoWriteAfterSleep(t *testing.T) {
	sent := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent[r.Method]++ }))
	defer server.Close()
	client := &http.Client{Transport: Asking(http.DefaultTransport)}
	ask := func(ctx context.Context, method string) error {
		r, _ := http.NewRequestWithContext(ctx, method, server.URL, strings.NewReader("{}"))
		answer, err := client.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		return err
	}
	r := due(t, api())
	work, release := r.held.Guard(t.Context())
	defer release()
	if err := ask(work, http.MethodPut); err != nil {
		t.Fatalf("while the lease is held: %v", err)
	}
	r.now = r.now.Add(3 * time.Hour) // no timer has run, and the context has not ended
	step := context.WithoutCancel(work)
	for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodPost, http.MethodDelete} {
		before := sent[method]
		if err := ask(step, method); !errors.Is(err, ErrLost) || sent[method] != before {
			t.Errorf("%s after three hours: %v, sent %d times", method, err, sent[method]-before)
		}
	}
	if err := ask(step, http.MethodGet); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := ask(t.Context(), http.MethodPut); err != nil {
		t.Errorf("without a lease: %v", err)
	}
	if work.Err() == nil || !errors.Is(Lasts(work), ErrLost) {
		t.Errorf("the work goes on: %v", Lasts(work))
	}
}

// TestAllClientsAsk: each HTTP client of the floor "edge" asks before it writes. The one without is that of
// tunnels, which carry the requests of the others.
func TestAllClientsAsk(t *testing.T) {
	found := 0
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, filepath.Join("dial", "upgrade.go")) {
			return err
		}
		source, err := os.ReadFile(path)
		for i, line := range strings.SplitAfter(string(source), "&http.Client{") {
			if i == 0 {
				continue
			}
			found++
			if begin, _, _ := strings.Cut(strings.TrimSpace(line), "\n"); !strings.Contains(begin, " lease.Asking(") {
				t.Errorf("%s: an HTTP client that does not ask whether the lease lasts: %s", path, begin)
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d clients, %v", found, err)
	}
}

package factory

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://k.example:6443"}}]
contexts: [{name: staging, context: {cluster: c, namespace: db}}, {name: prod, context: {cluster: c}}, {name: lost, context: {cluster: old}}]
`

// home returns a factory whose kubeconfig has this text; with "" there is none.
func home(t *testing.T, text string) *Factory {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if text != "" {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", file)
	t.Setenv("KUBERNETES_SERVICE_HOST", "") // not in a cluster
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	return New(streams, func(string) string { return "" }, "v1.2.3")
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		name, text, context string
		code                exit.Code
		says                string
	}{
		{"no kubeconfig", "", "", exit.Failure, "there is no kubeconfig"},
		{"empty kubeconfig", "# nothing yet\n", "", exit.Failure, "no cluster is in the kubeconfig /"},
		{"broken kubeconfig", "{", "", exit.Failure, "load kubeconfig"},
		{"no current context", kubeconfig, "", exit.Failure, "there are lost, prod, staging"},
		{"current context is gone", kubeconfig + "current-context: old", "", exit.Failure, "old"},
		{"cluster of the context is gone", kubeconfig + "current-context: prod", "lost", exit.Failure, `has no cluster "old", which its context lost names`},
		{"no such context", kubeconfig + "current-context: prod", "prdo", exit.Usage, "it has lost, prod, staging"},
		{"good", kubeconfig + "current-context: prod", "staging", exit.OK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := home(t, c.text)
			*f.Flags.Context = c.context
			config, err := f.Config()
			if exit.Of(err) != c.code {
				t.Fatalf("exit code %d, want %d: %v", exit.Of(err), c.code, err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.says) {
					t.Errorf("%q does not say %q", err, c.says)
				}
				return
			}
			if config.Host != "https://k.example:6443" || config.UserAgent != "kubectl-tidb/v1.2.3" {
				t.Errorf("host %s, user agent %s", config.Host, config.UserAgent)
			}
			if ns, err := f.Namespace(); ns != "db" || err != nil {
				t.Errorf("namespace %q, %v", ns, err)
			}
		})
	}
}

// TestServerGiven: a server on the command line needs no kubeconfig.
func TestServerGiven(t *testing.T) {
	f := home(t, "")
	*f.Flags.APIServer = "http://localhost:8080"
	if _, err := f.Config(); err != nil {
		t.Error(err)
	}
}

func TestPatience(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	defer close(hang)
	client := &http.Client{Transport: patient{http.DefaultTransport, 20 * time.Millisecond, false, new(atomic.Bool)}}
	_, err := client.Get(server.URL + "/slow")
	var timeout interface{ Timeout() bool }
	if !errors.As(err, &timeout) || !timeout.Timeout() || !strings.Contains(err.Error(), "no answer") {
		t.Fatalf("a server that does not answer: %v", err)
	}
	response, err := client.Get(server.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	// The server has answered once, so it may answer slowly.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/slow", nil)
	if _, err := client.Do(request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that has answered was given up: %v", err)
	}
}

// TestPatienceBody: the answer can be read after the limit, and the context of the request ends with the body.
func TestPatienceBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		time.Sleep(60 * time.Millisecond)
		_, _ = io.WriteString(w, "late")
	}))
	defer server.Close()
	var sent context.Context
	next := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r.Context()
		return http.DefaultTransport.RoundTrip(r)
	})
	client := &http.Client{Transport: patient{next, 20 * time.Millisecond, false, new(atomic.Bool)}}
	response, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(response.Body); string(body) != "late" || err != nil || sent.Err() != nil {
		t.Errorf("body %q, %v, the context has ended: %v", body, err, sent.Err())
	}
	if err := response.Body.Close(); err != nil || sent.Err() == nil {
		t.Errorf("%v, and the context of the request does not end", err)
	}
}

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestInput(t *testing.T) {
	f := home(t, "")
	f.Streams.In = bytes.NewBufferString("yes")
	if got, err := f.Input(t.Context(), io.ReadAll); string(got) != "yes" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	silent, typist := io.Pipe()
	defer typist.Close()
	f.Streams.In = silent
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exit.ErrInterrupted)
	if _, err := f.Input(ctx, io.ReadAll); !errors.Is(err, exit.ErrInterrupted) {
		t.Errorf("interrupted at the prompt: %v", err)
	}
}

// Each client of the factory updates the clock with the answers of the API server.
func TestClock(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer api.Close()
	f := home(t, strings.Replace(kubeconfig, "https://k.example:6443", api.URL, 1)+"current-context: prod")
	kube, err := f.Kube()
	if err != nil {
		t.Fatal(err)
	}
	if ahead := time.Until(f.Clock.Now()); ahead.Abs() > time.Minute {
		t.Errorf("before any answer it is ahead by %s", ahead)
	}
	_, _ = kube.Discovery().ServerVersion()
	if ahead := time.Until(f.Clock.Now()); ahead < 59*time.Minute || ahead > 61*time.Minute {
		t.Errorf("it is ahead by %s", ahead)
	}
}

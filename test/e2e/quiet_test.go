package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// quietMinute is how many requests a run may send to the API server in a minute in which nothing moves,
// besides watches, which the server ends every five to ten minutes.
const quietMinute = 10

// minutes is how many of them are counted at most, until one is quiet: on a busy node a store or PD's leader may be
// late, and then something moves.
const minutes = 3

// TestQuietMinute: a run that waits for a pod that has no place costs the API server ten requests a minute
// at most. One that writes or reads more in each minute fails.
func TestQuietMinute(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-quiet")
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1")
	s.patchCluster(t, `{"spec":{"tidb":{"nodeSelector":{"e2e":"no-such-node"}}}}`)
	api := countRequests(t, s.Config)
	s.plugin.Kubeconfig = api.kubeconfig(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := s.plugin.Start(ctx, "sync", cluster, "-o", "json")
	defer run.Close()
	var counted []string
	begun, left := false, minutes
	var count func()
	count = func() {
		left--
		counted = api.requests()
		if len(counted) > quietMinute && left > 0 {
			t.Logf("%d requests in a minute:\n%s", len(counted), strings.Join(counted, "\n"))
			time.AfterFunc(time.Minute, count)
			return
		}
		_ = run.Signal(syscall.SIGINT)
	}
	for e, err := range run.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if !begun && (e.Type == event.Waiting || e.Type == event.Blocked) && strings.Contains(strings.ToLower(text(e)), "unschedulable") {
			begun = true
			time.AfterFunc(30*time.Second, func() { // the scheduler has said so in the pod's status by then
				api.requests()
				time.AfterFunc(time.Minute, count)
			})
		}
	}
	if code := run.Wait(); code != 130 || !begun {
		t.Fatalf("exit code %d; it waited for a place: %t", code, begun)
	}
	t.Logf("%d requests in a minute", len(counted))
	if len(counted) > quietMinute || len(counted) == 0 {
		t.Errorf("%d requests in a minute in which nothing moved:\n%s", len(counted), strings.Join(counted, "\n"))
	}
}

// counter is a proxy of the API server that counts requests.
type counter struct {
	*httptest.Server
	mu  sync.Mutex
	log []string
}

func countRequests(t *testing.T, config *rest.Config) *counter {
	t.Helper()
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// HTTP/1.1, since a connection of HTTP/2 cannot be upgraded for a port-forward.
	way, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: tls, Protocols: http1()})
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, Transport: way, FlushInterval: -1,
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			c.mu.Lock()
			c.log = append(c.log, r.Method+" "+r.URL.Path+patch(r))
			c.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

// patch returns the body of a request that patches something, to see what has moved.
func patch(r *http.Request) string {
	if r.Method != http.MethodPatch {
		return ""
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return " " + err.Error()
	}
	return " " + string(body)
}

func http1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// requests returns the requests since the last call.
func (c *counter) requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	log := c.log
	c.log = nil
	return log
}

// kubeconfig writes a file with the proxy as the server.
func (c *counter) kubeconfig(t *testing.T) string {
	t.Helper()
	file := clientcmdapi.NewConfig()
	file.Clusters["e2e"] = &clientcmdapi.Cluster{Server: c.URL}
	file.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e"}
	file.CurrentContext = "e2e"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

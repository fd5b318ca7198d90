package drive

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// quietMinute is how many requests a run may send to the API server in a minute in which nothing moves,
// besides watches, which the server ends every five to ten minutes.
const quietMinute = 10

const waits = `{"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster", "metadata": {"namespace": "ns", "name": "t"},
	"spec": {"version": "v8.1.0", "timezone": "UTC",
		"pd": {"baseImage": "pingcap/pd", "replicas": 3, "requests": {"storage": "1Gi"}, "config": {}},
		"tikv": {"baseImage": "pingcap/tikv", "replicas": 3, "requests": {"storage": "1Gi"}, "config": {}},
		"tidb": {"baseImage": "pingcap/tidb", "replicas": 2, "config": {}}}}`

// started is a pod of PD whose process has just started, and does not answer yet.
const started = `{"apiVersion": "v1", "kind": "Pod",
	"metadata": {"namespace": "ns", "name": %q, "labels": {"app.kubernetes.io/component": "pd", "app.kubernetes.io/instance": "t"}},
	"spec": {"containers": [{"name": "pd", "image": "pingcap/pd:v8.1.0"}]},
	"status": {"phase": "Running", "containerStatuses": [{"name": "pd", "state": {"running": {"startedAt": %q}}}]}}`

// counted is an API server in memory whose requests are written down, besides watches.
type counted struct {
	api *memoryapi.Server
	mu  sync.Mutex
	log []string
}

// ServeHTTP implements http.Handler.
func (s *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		s.mu.Lock()
		s.log = append(s.log, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
	}
	s.api.ServeHTTP(w, r)
}

// requests returns the requests since the last call.
func (s *counted) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log
	s.log = nil
	return log
}

// factory returns a factory whose clients use the server.
func (s *counted) factory() *factory.Factory {
	f := factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "test")
	host := "http://api"
	f.Flags.APIServer = &host
	f.Flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c.Transport = memoryapi.Transport{Handler: s}
		return c
	}
	return f
}

// put makes an object in a collection.
func (s *counted) put(t *testing.T, collection, text string) {
	t.Helper()
	client := http.Client{Transport: memoryapi.Transport{Handler: s}}
	answer, err := client.Post("http://api"+collection, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body.Close(); answer.StatusCode != http.StatusCreated {
		t.Fatal(answer.StatusCode)
	}
}

// TestQuietMinute: a run that waits for hours for a pod, or asks members that do not answer again and again,
// costs the API server ten requests a minute at most, whichever minute that is.
func TestQuietMinute(t *testing.T) {
	for name, pods := range map[string]int{"no pod comes": 0, "members do not answer": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &counted{api: memoryapi.New()}
				s.put(t, "/apis/pingcap.com/v1alpha1/namespaces/ns/tidbclusters", waits)
				for n := range pods {
					pod := fmt.Sprintf("t-pd-%d", n)
					s.put(t, "/api/v1/namespaces/ns/pods", fmt.Sprintf(started, pod, time.Now().Format(time.RFC3339)))
				}
				ctx, stop := context.WithCancel(t.Context())
				over := s.drive(ctx, t)
				time.Sleep(time.Minute + 7*time.Second) // no request is at the end of a minute
				s.requests()
				for minute := range 8 { // in which the server ends watches
					time.Sleep(time.Minute)
					if log := s.requests(); len(log) > quietMinute {
						t.Errorf("minute %d: %d requests:\n%s", minute, len(log), strings.Join(log, "\n"))
					}
				}
				stop()
				if p := <-over; p.Outcome != plan.Wait {
					t.Errorf("it did not wait: %+v", p)
				}
				time.Sleep(dial.Idle + time.Second) // connections that were opened for a request that was cut short
			})
		})
	}
}

// drive begins a run that drives cluster t, and returns where its last plan comes.
func (s *counted) drive(ctx context.Context, t *testing.T) <-chan plan.Plan {
	t.Helper()
	f := s.factory()
	session, err := target.Connect(f, "ns", "t")
	if err != nil {
		t.Fatal(err)
	}
	asked := session.Kube.CoreV1()
	// No pod has an address, so that a connection fails as soon as the pod is known.
	session.Dialer = dial.DirectFrom(func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
		return asked.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	}, nil)
	session.Observer = session.Connections.Observer("ns", "t")
	over := make(chan plan.Plan, 1)
	go func() {
		progress := reconcile.NewProgress("ns", "t", f.Clock.Now, &heard{})
		p, err := run{Session: session, f: f, progress: progress}.attempt(ctx)
		if ctx.Err() == nil {
			t.Errorf("it has ended: %v", err)
		}
		session.Close()
		over <- p
	}()
	return over
}

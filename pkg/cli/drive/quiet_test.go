package drive

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// quietMinute is how many requests a run may send to the API server in a minute in which nothing moves,
// besides watches, which the server ends every five to ten minutes.
const quietMinute = 10

const waits = `{"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster", "metadata": {"namespace": "ns", "name": "t", "uid": "1"},
	"spec": {"version": "v8.1.0", "timezone": "UTC",
		"pd": {"baseImage": "pingcap/pd", "replicas": 3, "requests": {"storage": "1Gi"}, "config": {}},
		"tikv": {"baseImage": "pingcap/tikv", "replicas": 3, "requests": {"storage": "1Gi"}, "config": {}},
		"tidb": {"baseImage": "pingcap/tidb", "replicas": 2, "config": {}}}}`

// started is a pod whose process has just started, and does not answer yet.
const started = `{"apiVersion": "v1", "kind": "Pod",
	"metadata": {"namespace": "ns", "name": %q, "labels": {"app.kubernetes.io/component": %q, "app.kubernetes.io/instance": "t"}},
	"spec": {"containers": [{"name": %[2]q, "image": "pingcap/%[2]s:v8.1.0"}]},
	"status": {"phase": "Running", "containerStatuses": [{"name": %[2]q, "state": {"running": {"startedAt": %[3]q}}}]}}`

// TestQuietMinute: a run that waits for hours for a pod, or asks members that do not answer again and again,
// costs the API server ten requests a minute at most, whichever minute that is.
func TestQuietMinute(t *testing.T) {
	for name, pods := range map[string]int{"no pod comes": 0, "members do not answer": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &apiServer{objects: map[string]map[string]any{}}
				s.put(t, "/apis/pingcap.com/v1alpha1/namespaces/ns/tidbclusters/t", waits)
				for n := range pods {
					pod := fmt.Sprintf("t-pd-%d", n)
					s.put(t, "/api/v1/namespaces/ns/pods/"+pod, fmt.Sprintf(started, pod, "pd", time.Now().Format(time.RFC3339)))
				}
				ctx, stop := context.WithCancel(t.Context())
				over := s.drive(ctx, t)
				time.Sleep(time.Minute + 7*time.Second) // no request is at the end of a minute
				s.requests()
				for minute := range 8 {
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
func (s *apiServer) drive(ctx context.Context, t *testing.T) <-chan plan.Plan {
	t.Helper()
	f := s.factory()
	session, err := Open(f, "ns", "t")
	if err != nil {
		t.Fatal(err)
	}
	asked := session.Kube.CoreV1()
	// No pod has an address, so that a connection fails as soon as the pod is known.
	session.Dialer = dial.DirectFrom(func(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
		return asked.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	})
	session.Observer = session.Connections.Observer("ns", "t")
	over := make(chan plan.Plan, 1)
	go func() {
		progress := reconcile.NewProgress("ns", "t", f.Clock.Now, &heard{})
		p, err := session.attempt(ctx, f, Options{}, plan.Policy{}, progress)
		if ctx.Err() == nil {
			t.Errorf("it has ended: %v", err)
		}
		session.Close()
		over <- p
	}()
	return over
}

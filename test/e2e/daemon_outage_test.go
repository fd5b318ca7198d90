package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// away is how long the API server is gone: for longer than a lease lasts, so that
// no process holds one when it is back, and for longer than Kubernetes believes that its
// nodes are well. To notice that it is back takes the kubelet as long again: it waits
// longer and longer before it tries again.
const away = time.Minute

// daemonOutage: the API server goes away for long while leaders are evicted. All
// daemons live through it, one of them drives on, and nothing of theirs is left.
func daemonOutage(t *testing.T) {
	shared.patchCluster(t, `{"spec":{"tikv":{"annotations":{"e2e":"outage"}}}}`)
	awaitEviction(t)
	if err := shared.Outage(t.Context(), away); err != nil {
		t.Fatal(err)
	}
	begun, seen := time.Now(), map[string]int{}
	poll(t, patience, "Ready", func(ctx context.Context) bool {
		wantOneDriver(ctx, t, seen)
		return isReady(ctx)
	})
	t.Logf("Ready %v after the outage; seen to drive: %v", time.Since(begun).Round(time.Second/10), seen)
	if len(seen) == 0 {
		t.Error("no driver was seen, so this test shows nothing")
	}
	shared.wantConverged(t, 3, 3, 1, to)
	// It is not renewed any more, and given back when it would have been.
	poll(t, takeover, "the lease of a converged cluster is released", func(context.Context) bool { return driver(t) == "" })
}

// isReady: what "kubectl wait" waits for.
func isReady(ctx context.Context) bool {
	tc, err := shared.clusters().Get(ctx, cluster, metav1.GetOptions{})
	if err != nil {
		return false
	}
	status, _, _ := unstructured.NestedMap(tc.Object, "status")
	if seen, _, _ := unstructured.NestedInt64(status, "observedGeneration"); seen != tc.GetGeneration() {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["type"] == "Ready" {
			return c["status"] == string(corev1.ConditionTrue)
		}
	}
	return false
}

// wantOneDriver asserts that no daemon takes itself for the driver while the lease
// says that it is another one, before and after it was asked.
func wantOneDriver(ctx context.Context, t *testing.T, seen map[string]int) {
	t.Helper()
	before := driver(t)
	drives := map[string]bool{}
	pods, err := shared.Kube.CoreV1().Pods(home).List(ctx, metav1.ListOptions{LabelSelector: daemonPods})
	if err != nil || before == "" {
		return
	}
	for _, p := range pods.Items {
		if drives[p.Name], err = takesItselfForDriver(ctx, p.Name); err != nil {
			return // it cannot be asked just now, so what the others say is not all
		}
	}
	if driver(t) != before {
		return
	}
	if drives[before] {
		seen[before]++
	}
	for name, is := range drives {
		if is && name != before {
			t.Errorf("%s takes itself for the driver, and the lease is %s's", name, before)
		}
	}
}

// takesItselfForDriver asks a daemon for its metrics.
func takesItselfForDriver(ctx context.Context, pod string) (bool, error) {
	text, err := shared.Kube.CoreV1().Pods(home).ProxyGet("http", pod, "8080", "/metrics", nil).DoRaw(ctx)
	held := fmt.Sprintf(`kubectl_tidb_lease_held{cluster_name=%q,cluster_namespace=%q} 1`, cluster, namespace)
	return strings.Contains(string(text), held), err
}

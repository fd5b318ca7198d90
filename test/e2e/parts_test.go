package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// part is a TidbCluster that uses the PD of the cluster.
const part = "more"

// TestParts: a database of two TidbClusters, with a driver for each part. Under a client that writes, both drivers restart
// and upgrade at the same time, and never take two stores down together. A part leaves when its stores are empty.
func TestParts(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-parts")
	s.apply(t, "  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: {}}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 3, requests: {storage: 1Gi}, config: {}}")
	db, writer := s.writes(t, "parts")
	s.applyPart(t, "nowhere", 3)
	s.applyPart(t, cluster, 0)
	s.wantCleanPD(t, 3, 5)
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("neither part can go", func(t *testing.T) {
		if r := s.tidb(t, 3, "delete", cluster, "--yes"); !strings.Contains(r.Stderr, "use its PD") {
			t.Errorf("%s", r.Stderr)
		}
		if r := s.tidb(t, 3, "delete", part, "--yes"); !strings.Contains(r.Stderr, "tikv=0") {
			t.Errorf("%s", r.Stderr)
		}
		if r := s.tidb(t, 3, "upgrade", part, to, "--yes"); !strings.Contains(r.Stderr, "PD is upgraded first") {
			t.Errorf("%s", r.Stderr)
		}
	})
	step("both restart", func(t *testing.T) {
		s.bothParts(t, func() { s.tidb(t, 0, "restart", cluster, "tikv", "--yes") }, func() { s.tidb(t, 0, "restart", part, "tikv", "--yes") })
	})
	step("both upgrade", func(t *testing.T) {
		s.bothParts(t, func() { s.tidb(t, 0, "upgrade", cluster, to, "--yes") }, func() {
			s.untilAsked(t, to)
			s.tidb(t, 0, "upgrade", part, to, "--yes")
		})
		s.wantMembers(t, map[string]int{"pd": 3, "tikv": 3, "tidb": 2}, release{all: to})
	})
	step("a part leaves", func(t *testing.T) {
		s.tidb(t, 0, "scale", part, "tikv=0", "--yes")
		s.wantCleanPD(t, 3, 3)
		s.tidb(t, 0, "delete", part, "--yes")
	})
	s.wantRows(t, db, writer, "parts")
	db.Close()
}

// applyPart applies a part that joins a cluster, and wants the command to end with a code.
func (s environment) applyPart(t *testing.T, joins string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), part+".yaml")
	text := strings.Replace(manifest("  cluster: {name: "+joins+"}\n"+
		"  tidb: {baseImage: pingcap/tidb, replicas: 1, config: {}}\n"+
		"  tikv: {baseImage: pingcap/tikv, replicas: 2, requests: {storage: 1Gi}, config: {}}"), "metadata: {name: basic}", "metadata: {name: "+part+"}", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tidb(t, code, "apply", "-f", file)
}

// bothParts does two things at the same time, while an observer that asks only Kubernetes counts the stores of both
// parts.
func (s environment) bothParts(t *testing.T, first, second func()) {
	t.Helper()
	ctx, over := context.WithCancel(t.Context())
	least := make(chan int, 1)
	go func() { least <- s.leastStores(ctx) }()
	var both sync.WaitGroup
	both.Go(first)
	both.Go(second)
	both.Wait()
	over()
	if n := <-least; n != 4 {
		t.Errorf("%d of 5 stores served at the same time, want 4: one restarts at a time, and each does", n)
	}
}

// untilAsked waits until the cluster asks for a version.
func (s environment) untilAsked(t *testing.T, version string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		tc, err := s.clusters().Get(ctx, cluster, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		asked, _, err := unstructured.NestedString(tc.Object, "spec", "version")
		return asked == version, err
	})
	if err != nil {
		t.Error(err)
	}
}

// leastStores returns the lowest number of stores of both parts that were Ready together, until ctx ends.
func (s environment) leastStores(ctx context.Context) int {
	least := 5
	for ctx.Err() == nil {
		pods, err := s.Kube.CoreV1().Pods(s.plugin.Namespace).List(ctx, metav1.ListOptions{LabelSelector: topology.LabelComponent + "=tikv"})
		if err == nil {
			n := 0
			for i := range pods.Items {
				if ready(&pods.Items[i]) {
					n++
				}
			}
			least = min(least, n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return least
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

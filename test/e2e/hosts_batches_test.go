package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/test/e2e/workload"
)

// zoned is a cluster with nine stores in three zones, of which PD puts no two copies of a region into one.
const zoned = `  topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname}]
  pd: {baseImage: pingcap/pd, replicas: 3, requests: {storage: 1Gi}, config: "[replication]\nlocation-labels = [\"zone\", \"host\"]\nisolation-level = \"zone\"\n"}
  tikv: {baseImage: pingcap/tikv, replicas: 9, requests: {storage: 1Gi}, config: {}}
  tidb: {baseImage: pingcap/tidb, replicas: 2, config: {}}`

// TestHostsBatches restarts the stores of one zone together under a client that writes, and one at a time for
// comparison. Real PD says that no region has two copies in a zone. It needs three hosts: make e2e-hosts.
func TestHostsBatches(t *testing.T) {
	needsHosts(t)
	s := newEnvironment(t, "e2e-batches")
	s.apply(t, zoned)
	db, err := s.sql.Open("batches")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	writer, err := workload.Start(context.WithoutCancel(t.Context()), db, "batches", 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	zones := s.watchZones(t)
	begun := time.Now()
	s.tidb(t, 0, "restart", cluster, "tikv", "--yes")
	single, most := time.Since(begun), zones.most()
	if most != 1 {
		t.Errorf("%d stores were missing at the same time, want 1", most)
	}
	s.tidb(t, 3, "restart", cluster, "tikv", "--concurrency", "4", "--yes") // a zone has three
	begun = time.Now()
	s.tidb(t, 0, "restart", cluster, "tikv", "--concurrency", "3", "--yes")
	several := time.Since(begun)
	t.Logf("nine stores: one at a time %s, three at a time %s with the time in which PD counts regions; %d were missing at the same time",
		single.Round(time.Second), several.Round(time.Second), zones.most())
	if zones.most() < 2 {
		t.Error("no two stores restarted at the same time")
	}
	zones.check(t)
	account := writer.Stop()
	t.Log("the client's account:", account, account.Stalls)
	if err := account.Verify(t.Context(), db, "batches"); err != nil {
		t.Error(err)
	}
}

// zones is what was seen of the stores of each zone.
type zones struct {
	stop   func()
	mu     sync.Mutex
	of     map[string]string // the zone of each host
	missed int               // the most stores that were missing at the same time
	mixed  string            // two stores of different zones that were missing at the same time
}

// watchZones looks at the stores four times a second.
func (s environment) watchZones(t *testing.T) *zones {
	t.Helper()
	z := &zones{of: map[string]string{}}
	nodes, err := s.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		z.of[nodes.Items[i].Name] = nodes.Items[i].Labels[corev1.LabelTopologyZone]
	}
	z.stop = s.watchPods(t, "app.kubernetes.io/component=tikv", z.note)
	return z
}

func (z *zones) note(pods []corev1.Pod) {
	var missing []string
	where := map[string]bool{}
	for i := range pods {
		if p := &pods[i]; !workload.Ready(p) || p.DeletionTimestamp != nil {
			missing = append(missing, p.Name)
			if zone := z.of[p.Spec.NodeName]; zone != "" { // a new pod has no node for a moment
				where[zone] = true
			}
		}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.missed = max(z.missed, len(missing))
	if len(where) > 1 {
		z.mixed = time.Now().Format("15:04:05") + " " + strings.Join(missing, " ")
	}
}

func (z *zones) most() int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.missed
}

// check asserts that stores were missing together only in one zone.
func (z *zones) check(t *testing.T) {
	t.Helper()
	z.stop()
	if z.mixed != "" {
		t.Errorf("stores of different zones were missing at the same time: %s", z.mixed)
	}
}

package e2e

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestPump takes Pumps through their life, with TLS, beside a TiDB that could write its binlog to them:
// each is closed and offline before it leaves, and the last one stays while TiDB writes. Pump, what it
// writes into PD's etcd and how it ends are real.
func TestPump(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-pump")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1", "--tls")
		// The certificates are those of all components, Pump's too.
		s.patchCluster(t, `{"spec":{"pump":{"replicas":2,"baseImage":"pingcap/tidb-binlog","requests":{"storage":"1Gi"}},"tidb":{"binlogEnabled":false}}}`)
		s.tidb(t, 0, "sync", cluster)
		s.wantPumps(t, 2, from)
	})
	step("scale out", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "pump=3")
		s.wantPumps(t, 3, from)
	})
	step("scale in", func(t *testing.T) {
		events := s.driven(t, 0, "scale", cluster, "pump=2")
		s.wantClosed(t, events, "basic-pump-2")
		s.wantPumps(t, 2, from)
		s.wantLeftOver(t, "data-basic-pump-2")
	})
	step("scale out again", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "pump=3")
		s.wantPumps(t, 3, from)
		s.tidb(t, 0, "scale", cluster, "pump=2")
		s.wantPumps(t, 2, from)
	})
	step("upgrade", func(t *testing.T) {
		events := s.driven(t, 0, "upgrade", cluster, to)
		order := []string{"restart basic-tikv-0", "restart basic-pump-1", "restart basic-pump-0", "restart basic-tidb-0"}
		at := -1
		for _, name := range order {
			i := slices.IndexFunc(events, func(e event.Event) bool { return strings.HasPrefix(e.Step, name) })
			if i <= at {
				t.Errorf("%s is not in this order: %s", name, texts(events))
			}
			at = i
		}
		s.wantDDLNotPaused(t, events)
		s.wantPumps(t, 2, to)
	})
	step("the last one", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "pump=0", "--yes")
		s.wantPumps(t, 0, to)
		s.wantLeftOver(t, "data-basic-pump-0")
		s.wantConverged(t, 3, 3, 1, to)
	})
}

// wantClosed asserts that a run has closed a Pump before it took it away.
func (s environment) wantClosed(t *testing.T, events []event.Event, member string) {
	t.Helper()
	closed := slices.IndexFunc(events, func(e event.Event) bool { return e.Step == "close Pump "+member })
	left := slices.IndexFunc(events, func(e event.Event) bool { return strings.HasPrefix(e.Step, "scale Pump from") })
	if closed < 0 || left < closed {
		t.Errorf("%s was not closed before it left: %s", member, texts(events))
	}
}

// wantLeftOver asserts that a claim is there, marked as left over.
func (s environment) wantLeftOver(t *testing.T, name string) {
	t.Helper()
	claim, err := s.Kube.CoreV1().PersistentVolumeClaims(s.plugin.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if claim.Annotations["tidb.pingcap.com/pvc-defer-deleting"] == "" {
		t.Errorf("claim %s is not marked: %v", name, claim.Annotations)
	}
}

// wantPumps asserts that the cluster has converged with so many Pumps of a version, all of them online.
func (s environment) wantPumps(t *testing.T, n int, version string) {
	t.Helper()
	got := s.look(t)
	up := 0
	for _, m := range got.Members {
		if m.Component == "pump" && m.Up && m.Updated {
			up++
		}
	}
	if got.Outcome != "converged" || up != n {
		t.Errorf("status: %s with %d Pumps of %s, want %d: %+v", got.Outcome, up, version, n, got.Members)
	}
	set, err := s.Kube.AppsV1().StatefulSets(s.plugin.Namespace).Get(t.Context(), cluster+"-pump", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if image := set.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, ":"+version) {
		t.Errorf("Pump is of %s, want %s", image, version)
	}
	tc, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := unstructured.NestedSlice(tc.Object, "status", "pump", "members")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m := m.(map[string]any); m["state"] != "online" || m["nodeId"] == "" {
			t.Errorf("the status has %+v", m)
		}
	}
	if len(all) != n {
		t.Errorf("the TidbCluster has Pumps %+v, want %d", all, n)
	}
}

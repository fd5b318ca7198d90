package e2e

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
)

// TestTiCDC takes captures through their life, with TLS: tables leave each one before it goes, the owner
// resigns, and the last one stays while its changefeed runs. TiCDC is a stand-in whose election and
// leases in PD are real.
func TestTiCDC(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-ticdc")
	s.sql.TLS = true
	step := func(name string, f func(*testing.T)) {
		if !t.Run(name, f) {
			t.FailNow()
		}
	}
	step("create", func(t *testing.T) {
		s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--tidb", "1", "--ticdc", "2", "--tls")
		s.wantCaptures(t, 2, from)
	})
	step("scale out", func(t *testing.T) {
		s.tidb(t, 0, "scale", cluster, "ticdc=3")
		s.wantCaptures(t, 3, from)
	})
	step("tables", func(t *testing.T) {
		s.patchCluster(t, `{"spec":{"ticdc":{"env":[{"name":"TICDC_FIXTURE","value":"{\"tables\":9,\"pace\":\"3s\"}"}]}}}`)
		s.tidb(t, 0, "sync", cluster)
		s.wantCaptures(t, 3, from)
	})
	step("scale in", func(t *testing.T) {
		events := s.driven(t, 0, "scale", cluster, "ticdc=2")
		s.wantDrained(t, events, "basic-ticdc-2")
		s.wantCaptures(t, 2, from)
	})
	step("upgrade", func(t *testing.T) {
		owner := s.owner(t)
		events := s.driven(t, 0, "upgrade", cluster, to)
		resigns := func(e event.Event) bool {
			return strings.HasPrefix(e.Step, "have another capture own TiCDC than "+owner)
		}
		if !slices.ContainsFunc(events, resigns) {
			t.Errorf("%s was the owner, and has not resigned: %s", owner, texts(events))
		}
		s.wantDrained(t, events, "basic-ticdc-1")
		s.wantCaptures(t, 2, to)
	})
	step("the last one", func(t *testing.T) {
		events := s.driven(t, 3, "scale", cluster, "ticdc=0", "--yes")
		if !reported(events, "basic-ticdc-0", "last capture") {
			t.Error(texts(events))
		}
		s.tidb(t, 0, "scale", cluster, "ticdc=0", "--stop-changefeeds", "--yes")
		s.wantCaptures(t, 0, to)
		s.wantConverged(t, 3, 3, 1, to)
	})
}

// wantDrained asserts that a run has waited for the tables of a capture, with their number, and has then
// taken the capture away with nothing left undone.
func (s environment) wantDrained(t *testing.T, events []event.Event, member string) {
	t.Helper()
	counted := slices.ContainsFunc(events, func(e event.Event) bool {
		return e.Member == member && e.Reason == "TablesMoved" && strings.HasSuffix(e.Observed, "tables left")
	})
	if !counted {
		t.Errorf("nobody has waited for the tables of %s: %s", member, texts(events))
	}
	for _, e := range events {
		if strings.Contains(e.Step, "without") {
			t.Errorf("a goal was given up: %s", e.Step)
		}
	}
}

// owner returns the pod of the capture that owns TiCDC, by the status of the TidbCluster.
func (s environment) owner(t *testing.T) string {
	t.Helper()
	for pod, c := range s.captures(t) {
		if c.(map[string]any)["isOwner"] == true {
			return pod
		}
	}
	t.Fatal("no capture is the owner")
	return ""
}

// captures are those in the status of the TidbCluster, by their pods.
func (s environment) captures(t *testing.T) map[string]any {
	t.Helper()
	got, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := unstructured.NestedMap(got.Object, "status", "ticdc", "captures")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// recorded returns the captures in the status of the TidbCluster, with an owner among n of them. Captures elect their
// owner a moment after they serve, and a run that has converged before does not see it. The next run records the owner.
func (s environment) recorded(t *testing.T, n int) map[string]any {
	t.Helper()
	const most = 10 // runs; each takes longer than an election
	for range most {
		all := s.captures(t)
		owned := n == 0
		for _, c := range all {
			owned = owned || c.(map[string]any)["isOwner"] == true
		}
		if owned {
			return all
		}
		s.tidb(t, 0, "sync", cluster)
	}
	return s.captures(t)
}

// wantCaptures asserts that the cluster has converged with so many captures of a version, one of them
// the owner, and that no drain is recorded any more.
func (s environment) wantCaptures(t *testing.T, n int, version string) {
	t.Helper()
	got := s.look(t)
	up := 0
	for _, m := range got.Members {
		if m.Component == "ticdc" && m.Up && m.Updated && m.Version == version {
			up++
		}
	}
	if got.Outcome != "converged" || up != n {
		t.Errorf("status: %s with %d captures of %s, want %d: %+v", got.Outcome, up, version, n, got.Members)
	}
	captures, owners := s.recorded(t, n), 0
	for pod, c := range captures {
		c := c.(map[string]any)
		if c["ready"] != true || c["id"] == nil || c["version"] != version {
			t.Errorf("the status of %s is %+v", pod, c)
		}
		if c["isOwner"] == true {
			owners++
		}
	}
	if len(captures) != n || owners != min(n, 1) {
		t.Errorf("the TidbCluster has captures %+v, want %d", captures, n)
	}
	ledger, err := s.Kube.CoreV1().ConfigMaps(s.plugin.Namespace).Get(t.Context(), cluster+"-ledger", metav1.GetOptions{})
	if err != nil {
		return
	}
	for key, record := range ledger.Data {
		if strings.HasPrefix(key, "drain-capture.") {
			t.Errorf("the ledger still has %s: %s", key, record)
		}
	}
}

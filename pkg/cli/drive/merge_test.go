package drive

import (
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// TestRestartAgain: a change in mid-rollout restarts the members once more that the rollout has restarted.
func TestRestartAgain(t *testing.T) {
	const tikv = topology.TiKV
	for name, tt := range map[string]struct {
		now  *plantest.Cluster
		next func(*plantest.Cluster)
		want string
	}{
		"nothing is rolled out": {plantest.New(3, 4, 2), func(c *plantest.Cluster) { newTemplate(c, tikv) }, ""},
		"another template":      {plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 2, 3), func(c *plantest.Cluster) { newTemplate(c, tikv) }, "t-tikv-2, t-tikv-3"},
		"another template, and one leaves": {plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 2, 3),
			func(c *plantest.Cluster) { newTemplate(c, tikv).Want(tikv).Replicas = 3 }, "t-tikv-2"},
		"another number":    {plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 3), func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, ""},
		"another component": {plantest.New(3, 4, 2).Roll(tikv).Rolled(tikv, 3), func(c *plantest.Cluster) { newTemplate(c, topology.TiDB) }, ""},
		"it has not begun":  {newTemplate(plantest.New(3, 4, 2), tikv), func(*plantest.Cluster) {}, ""},
	} {
		before := tt.now.Wanted
		before.Groups = append(before.Groups[:0:0], before.Groups...)
		tt.next(tt.now)
		if got := strings.Join(restartAgain(before, tt.now.Wanted, tt.now.Seen), ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestAskedBy: the last command is named, or else who has written the spec.
func TestAskedBy(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{Version: "v8.1.1"}}
	by := func() string { return proposal{Request: Request{Change: intent.Change{Now: tc}}}.lastChange() }
	if got := by(); got != "it is not recorded by whom" {
		t.Error(got)
	}
	at := metav1.NewTime(noon)
	tc.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "argocd", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:version":{}}}`)}}
	if got := by(); got != "the spec was written by argocd at 2026-03-01T12:00:00Z" {
		t.Error(got)
	}
	last := topology.LastChange{Action: "upgrade to v8.1.1", At: noon, Back: []byte(`{"version":"v8.1.0"}`)}
	tc.Annotations = map[string]string{topology.AnnotationLastChange: last.Record(tc)}
	if got := by(); got != `asked for by "upgrade to v8.1.1" of 2026-03-01T12:00:00Z` {
		t.Error(got)
	}
	tc.Spec.Version = "v8.1.2"
	if got := by(); !strings.Contains(got, "argocd") {
		t.Error(got)
	}
}

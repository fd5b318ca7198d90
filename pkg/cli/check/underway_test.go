package check

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

// TestScaling: a scale is under way as long as the StatefulSet has another number of replicas, or a
// member that was added does not serve. A member that does not serve for another reason is none.
func TestScaling(t *testing.T) {
	const tikv = topology.TiKV
	for name, tt := range map[string]struct {
		before map[topology.Kind]int
		change func(*plantest.Cluster)
		want   string
	}{
		"done":                   {map[topology.Kind]int{tikv: 3}, func(*plantest.Cluster) {}, ""},
		"out, not begun":         {map[topology.Kind]int{tikv: 4}, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, "TiKV: 4 to 5 members"},
		"out, no room for it":    {map[topology.Kind]int{tikv: 3}, func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-3") }, "TiKV: 3 to 4 members"},
		"out, another one fails": {map[topology.Kind]int{tikv: 3}, func(c *plantest.Cluster) { c.Down(time.Hour, "t-tikv-2") }, ""},
		"in, it still leaves":    {map[topology.Kind]int{tikv: 4}, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 3 }, "TiKV: 4 to 3 members"},
		"in, done":               {map[topology.Kind]int{tikv: 5}, func(*plantest.Cluster) {}, ""},
		"not of the last change": {nil, func(c *plantest.Cluster) { c.Want(tikv).Replicas = 5 }, ""},
	} {
		c := plantest.New(3, 4, 2)
		tt.change(c)
		if got := strings.Join(scaling(tt.before, c.Wanted, c.Seen), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

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

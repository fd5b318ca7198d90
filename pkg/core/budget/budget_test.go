package budget

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestBudget: a budget selects the pods of its component alone, and goes with the TidbCluster.
func TestBudget(t *testing.T) {
	c := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "1"}})
	b := Of(c, topology.TiKV).Manifest.(*policyv1.PodDisruptionBudget)
	if got := b.Spec.MaxUnavailable.IntValue(); got != 1 {
		t.Errorf("pods that may be evicted at a time: got %d, want 1", got)
	}
	if !metav1.IsControlledBy(b, c.Source) {
		t.Error("the budget stays when the TidbCluster is deleted")
	}
	for _, k := range topology.Kinds() {
		if got, want := len(Selecting([]policyv1.PodDisruptionBudget{*b}, c.Labels(k))), k == topology.TiKV; (got == 1) != want {
			t.Errorf("pods of %s: selected by %d budgets", k, got)
		}
	}
}

// TestBudgetsOfOthers: a selector of somebody else counts as Kubernetes takes it. An empty one selects all pods, and none
// selects no pod.
func TestBudgetsOfOthers(t *testing.T) {
	pods := map[string]string{"app": "db", "team": "a"}
	for name, tt := range map[string]struct {
		selector *metav1.LabelSelector
		want     int
	}{
		"none":           {nil, 0},
		"empty":          {&metav1.LabelSelector{}, 1},
		"a label":        {&metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}, 1},
		"another value":  {&metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}, 0},
		"not understood": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}, 0},
	} {
		b := policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: tt.selector}}
		if got := len(Selecting([]policyv1.PodDisruptionBudget{b}, pods)); got != tt.want {
			t.Errorf("%s: got %d, want %d", name, got, tt.want)
		}
	}
}

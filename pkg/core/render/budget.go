package render

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Budget returns the PodDisruptionBudget of a component, which is made where there is none. Kubernetes then evicts one pod
// of the component at a time, and no pod while another pod is not Ready. Otherwise a drain of two nodes can take the
// quorum of PD, or two copies of a region.
func Budget(c topology.Cluster, k topology.Kind) desired.Object {
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: meta(c, c.SetName(k), c.Labels(k)),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one,
			Selector:       &metav1.LabelSelector{MatchLabels: c.Labels(k)},
		},
	}
	return desired.Object{Kind: b.Kind, Name: b.Name, Drift: desired.Missing, Manifest: b}
}

// BudgetsOf returns the PodDisruptionBudgets that select the pods of a component.
func BudgetsOf(all []policyv1.PodDisruptionBudget, pods map[string]string) []policyv1.PodDisruptionBudget {
	var selecting []policyv1.PodDisruptionBudget
	for _, b := range all {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pods)) {
			selecting = append(selecting, b)
		}
	}
	return selecting
}

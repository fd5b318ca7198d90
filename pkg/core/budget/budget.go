// Package budget has the PodDisruptionBudgets of clusters, by which Kubernetes evicts few members at a time. It is pure.
package budget

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Of returns the PodDisruptionBudget of a component, which is made where there is none. Kubernetes then evicts one pod
// of the component at a time, and no pod while another pod is not Ready. Otherwise a drain of two nodes can take the
// quorum of PD, or two copies of a region.
func Of(c topology.Cluster, k topology.Kind) desired.Object {
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.SetName(k), Namespace: c.Namespace, Labels: c.Labels(k),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c.Source, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.TiDBClusterKind))},
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one,
			Selector:       &metav1.LabelSelector{MatchLabels: c.Labels(k)},
		},
	}
	return desired.Object{Kind: b.Kind, Name: b.Name, Drift: desired.Missing, Manifest: b}
}

// Selecting returns the PodDisruptionBudgets that select the pods of a component.
func Selecting(all []policyv1.PodDisruptionBudget, pods map[string]string) []policyv1.PodDisruptionBudget {
	var selecting []policyv1.PodDisruptionBudget
	for _, b := range all {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pods)) {
			selecting = append(selecting, b)
		}
	}
	return selecting
}

package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Recreated returns a live StatefulSet, to be created again, with claim templates as large as those
// of wanted. Nothing else changes: the pod template must give the same revision, with additions of
// others, otherwise every pod would be restarted. The partition is closed.
func Recreated(live, wanted *appsv1.StatefulSet) *appsv1.StatefulSet {
	from := live.DeepCopy()
	result := &appsv1.StatefulSet{
		TypeMeta: wanted.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Name: from.Name, Namespace: from.Namespace,
			Labels: from.Labels, Annotations: from.Annotations, OwnerReferences: from.OwnerReferences,
		},
		Spec: from.Spec,
	}
	for i := range result.Spec.VolumeClaimTemplates {
		have := &result.Spec.VolumeClaimTemplates[i]
		if want := claimTemplate(wanted, have.Name); want != nil && smaller(have, want) {
			have.Spec.Resources.Requests[corev1.ResourceStorage] = *want.Spec.Resources.Requests.Storage()
		}
	}
	return WithPartition(result, state.OrdinalsOf(result).End())
}

// Outgrown reports whether a live StatefulSet has a claim template that is smaller
// than the wanted one.
func Outgrown(live, wanted *appsv1.StatefulSet) bool {
	for i := range live.Spec.VolumeClaimTemplates {
		have := &live.Spec.VolumeClaimTemplates[i]
		if want := claimTemplate(wanted, have.Name); want != nil && smaller(have, want) {
			return true
		}
	}
	return false
}

func claimTemplate(set *appsv1.StatefulSet, name string) *corev1.PersistentVolumeClaim {
	for i := range set.Spec.VolumeClaimTemplates {
		if t := &set.Spec.VolumeClaimTemplates[i]; t.Name == name {
			return t
		}
	}
	return nil
}

func smaller(have, want *corev1.PersistentVolumeClaim) bool {
	return templateSize(have) < templateSize(want)
}

func templateSize(t *corev1.PersistentVolumeClaim) topology.Size {
	return topology.SizeOf(*t.Spec.Resources.Requests.Storage())
}

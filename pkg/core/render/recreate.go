package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Recreated returns a live StatefulSet, to be created again, with the sizes and the storage classes of the claim
// templates of wanted. Sizes become smaller only with shrink. Nothing else of the StatefulSet changes, because every pod
// would be restarted if the pod template gave another revision. The partition is closed.
func Recreated(live, wanted *appsv1.StatefulSet, shrink bool) *appsv1.StatefulSet {
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
		want := claimTemplate(wanted, have.Name)
		if want == nil {
			continue
		}
		if resizes(have, want, shrink) {
			have.Spec.Resources.Requests[corev1.ResourceStorage] = *want.Spec.Resources.Requests.Storage()
		}
		if class := classOf(want.Spec); class != "" {
			have.Spec.StorageClassName = &class
		}
	}
	return WithPartition(result, state.OrdinalsOf(result).End())
}

// TemplatesDiffer reports whether a live StatefulSet has a claim template of another size or storage class than the
// wanted one. A larger size is no difference without shrink.
func TemplatesDiffer(live, wanted *appsv1.StatefulSet, shrink bool) bool {
	for i := range live.Spec.VolumeClaimTemplates {
		have := &live.Spec.VolumeClaimTemplates[i]
		if want := claimTemplate(wanted, have.Name); want != nil && (resizes(have, want, shrink) || otherClass(have, want)) {
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

func resizes(have, want *corev1.PersistentVolumeClaim, shrink bool) bool {
	return templateSize(have) < templateSize(want) || shrink && templateSize(have) > templateSize(want)
}

func otherClass(have, want *corev1.PersistentVolumeClaim) bool {
	class := classOf(want.Spec)
	return class != "" && class != storageClass(have.Spec)
}

// classOf returns the storage class that a wanted claim asks for, "" for any. With a VolumeAttributesClass, the storage
// class has no effect on a claim that exists, as in tidb-operator.
func classOf(want corev1.PersistentVolumeClaimSpec) string {
	if want.VolumeAttributesClassName != nil {
		return ""
	}
	return storageClass(want)
}

func storageClass(claim corev1.PersistentVolumeClaimSpec) string {
	if claim.StorageClassName == nil {
		return ""
	}
	return *claim.StorageClassName
}

func templateSize(t *corev1.PersistentVolumeClaim) topology.Size {
	return topology.SizeOf(*t.Spec.Resources.Requests.Storage())
}

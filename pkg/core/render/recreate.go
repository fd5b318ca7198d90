package render

import (
	"path"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Recreated returns a live StatefulSet, to be created again, with the sizes and the classes of the claim templates of
// wanted. Sizes become smaller only with shrink. Nothing else of the StatefulSet changes, because every pod
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
		if otherAttributes(have, want) {
			have.Spec.VolumeAttributesClassName = want.Spec.VolumeAttributesClassName
		}
	}
	return WithPartition(result, state.OrdinalsOf(result).End())
}

// TemplatesDiffer reports whether a live StatefulSet has a claim template of another size or class than the wanted one.
// A larger size is no difference without shrink.
func TemplatesDiffer(live, wanted *appsv1.StatefulSet, shrink bool) bool {
	for i := range live.Spec.VolumeClaimTemplates {
		have := &live.Spec.VolumeClaimTemplates[i]
		if want := claimTemplate(wanted, have.Name); want != nil && (resizes(have, want, shrink) || otherClass(have, want) || otherAttributes(have, want)) {
			return true
		}
	}
	return false
}

// OtherAttributes returns the first claim template of a StatefulSet whose VolumeAttributesClass is not the wanted one, ""
// if there is none.
func OtherAttributes(set, wanted *appsv1.StatefulSet) string {
	for i := range set.Spec.VolumeClaimTemplates {
		have := &set.Spec.VolumeClaimTemplates[i]
		if want := claimTemplate(wanted, have.Name); want != nil && otherAttributes(have, want) {
			return have.Name
		}
	}
	return ""
}

// Remade returns a live StatefulSet, to be created again without the volumes that wanted has not, and with the pod template
// of wanted. Pods that are there stay as they are, because the partition is closed.
func Remade(live, wanted *appsv1.StatefulSet, shrink bool) (*appsv1.StatefulSet, error) {
	from := live.DeepCopy()
	from.Spec.VolumeClaimTemplates = slices.DeleteFunc(from.Spec.VolumeClaimTemplates, func(c corev1.PersistentVolumeClaim) bool {
		return claimTemplate(wanted, c.Name) == nil
	})
	merged, err := mergeSet(from, wanted)
	if err != nil {
		return nil, err
	}
	return Recreated(merged, wanted, shrink), nil
}

// OtherVolumes reports whether a live StatefulSet has claim templates that the wanted one has not. A volume with data that
// is mounted at another path counts as another volume. The component would look for the data at the new path. Templates
// that only the wanted one has are refused in any case.
func OtherVolumes(k topology.Kind, live, wanted *appsv1.StatefulSet) bool {
	for _, c := range live.Spec.VolumeClaimTemplates {
		is, was := MountPath(wanted.Spec.Template.Spec, k, c.Name), MountPath(live.Spec.Template.Spec, k, c.Name)
		moved := k.Data() != topology.None && (topology.Volume{Path: is}).MovedFrom(was)
		if claimTemplate(wanted, c.Name) == nil || moved {
			return true
		}
	}
	return false
}

// MountPath returns where the container of a component mounts a volume, "" where it does not.
func MountPath(pod corev1.PodSpec, k topology.Kind, volume string) string {
	for _, c := range pod.Containers {
		for _, m := range c.VolumeMounts {
			if c.Name == string(k) && m.Name == volume {
				return path.Clean(m.MountPath)
			}
		}
	}
	return ""
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

func otherAttributes(have, want *corev1.PersistentVolumeClaim) bool {
	is, was := want.Spec.VolumeAttributesClassName, have.Spec.VolumeAttributesClassName
	return is != nil && (was == nil || *was != *is)
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

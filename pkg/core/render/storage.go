package render

import (
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// classes are the storage classes of a component, for volumes without their own.
type classes struct{ storage, attributes *string }

func claim(name string, size resource.Quantity, class classes) corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:               []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:          class.storage,
			VolumeAttributesClassName: class.attributes,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: size},
			},
		},
	}
}

// gives reports whether a volume has a class of its own. An empty name is none, as
// in tidb-operator: the component's class is used.
func gives(class *string) bool { return class != nil && *class != "" }

// dataClaim returns the claim for the data, with the size of the component's storage request.
func dataClaim(k topology.Kind, resources corev1.ResourceRequirements, class classes) (corev1.PersistentVolumeClaim, error) {
	size, ok := resources.Requests[corev1.ResourceStorage]
	if !ok {
		return corev1.PersistentVolumeClaim{}, fmt.Errorf("no storage is requested in spec.%s.requests", k)
	}
	return claim(string(k), size, class), nil
}

// storageVolumes returns the claims that the user adds to a component, and the mounts of those that
// have a path.
func storageVolumes(k topology.Kind, volumes []v1alpha1.StorageVolume, class classes) ([]corev1.PersistentVolumeClaim, []corev1.VolumeMount, error) {
	var claims []corev1.PersistentVolumeClaim
	var mounts []corev1.VolumeMount
	for _, v := range volumes {
		size, err := resource.ParseQuantity(v.StorageSize)
		if err != nil {
			return nil, nil, fmt.Errorf("size of storage volume %s: %w", v.Name, err)
		}
		name := string(k) + "-" + v.Name
		own := class
		if gives(v.StorageClassName) {
			own.storage = v.StorageClassName
		}
		if gives(v.VolumeAttributesClassName) {
			own.attributes = v.VolumeAttributesClassName
		}
		claims = append(claims, claim(name, size, own))
		if v.MountPath != "" {
			mounts = append(mounts, writable(name, v.MountPath))
		}
	}
	return claims, mounts, nil
}

package topology

import (
	"path"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateVolumes refuses claims that Kubernetes would not create. Kubernetes reports that only
// when the StatefulSet is created, after the TidbCluster was written.
func validateVolumes(spec component, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, d := range spec.disks {
		if size, at, ok := d.size(); ok && size.Sign() <= 0 {
			errs = append(errs, field.Invalid(at, size.String(), "must be an amount such as 10Gi"))
		}
	}
	names, paths := map[string]bool{}, map[string]bool{}
	for i, v := range spec.volumes {
		at := at.Child("storageVolumes").Index(i)
		// A missing name has been reported by the API module.
		for _, problem := range utilvalidation.IsDNS1123Label(v.Name) {
			if v.Name != "" {
				errs = append(errs, field.Invalid(at.Child("name"), v.Name, "claims are named after it: "+problem))
			}
		}
		if names[v.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), v.Name))
		}
		names[v.Name] = true
		if size, err := resource.ParseQuantity(v.StorageSize); err != nil || size.Sign() <= 0 {
			errs = append(errs, field.Invalid(at.Child("storageSize"), v.StorageSize, "must be an amount such as 10Gi"))
		}
		switch p := path.Clean(v.MountPath); {
		case v.MountPath == "":
		case !path.IsAbs(p):
			errs = append(errs, field.Invalid(at.Child("mountPath"), v.MountPath, "must be an absolute path"))
		case paths[p]:
			errs = append(errs, field.Duplicate(at.Child("mountPath"), v.MountPath))
		default:
			paths[p] = true
		}
	}
	return errs
}

// validateLogVolume checks a volume that the user has named to hold logs.
func validateLogVolume(name string, volumes []v1alpha1.StorageVolume, spec v1alpha1.ComponentSpec, at *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	for _, v := range volumes {
		switch {
		case v.Name == name && v.MountPath == "":
			// The operator does not refuse it, and then fails for ever.
			return field.ErrorList{field.Invalid(at, name, "this storage volume has no mountPath, so no log can be written to it: give it one")}
		case v.Name == name:
			return nil
		}
	}
	if slices.ContainsFunc(spec.AdditionalVolumes, func(v corev1.Volume) bool { return v.Name == name }) &&
		slices.ContainsFunc(spec.AdditionalVolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name }) {
		return nil
	}
	return field.ErrorList{field.Invalid(at, name, "must name one of storageVolumes, or one of additionalVolumes that additionalVolumeMounts mounts")}
}

package render

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// unstartable returns the fields because of which Kubernetes would create no pods of a StatefulSet.
// Kubernetes reports that only when the pods are created: a rollout would stop at the first one.
// Errors that the live StatefulSet has already are left out, since its pods run: a webhook may add
// what is missing here.
func unstartable(comp component, wanted *appsv1.StatefulSet) field.ErrorList {
	found := flaws(comp, wanted.Spec)
	if len(found) == 0 {
		return nil
	}
	known := map[string]bool{}
	if comp.live != nil {
		if applied, ok := lastApplied[appsv1.StatefulSetSpec](comp.live.ObjectMeta); ok {
			for _, f := range flaws(comp, applied) {
				known[f.Error()] = true
			}
		}
	}
	return slices.DeleteFunc(found, func(e *field.Error) bool { return known[e.Error()] })
}

// flaws returns mounts without a volume, containers without an image, and duplicate names and paths.
func flaws(comp component, spec appsv1.StatefulSetSpec) field.ErrorList {
	pod := spec.Template.Spec
	at := topology.FieldOf(comp.cluster.Source, comp.Kind)
	volumes := map[string]bool{}
	var errs field.ErrorList
	for _, v := range pod.Volumes {
		if volumes[v.Name] {
			errs = append(errs, field.Duplicate(at.Child("additionalVolumes").Key(v.Name).Child("name"), v.Name))
		}
		volumes[v.Name] = true
	}
	for _, c := range spec.VolumeClaimTemplates {
		volumes[c.Name] = true
	}
	names := map[string]bool{}
	for i, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		list := at.Child("additionalContainers")
		if i < len(pod.InitContainers) {
			list = at.Child("initContainers")
		}
		if names[c.Name] {
			errs = append(errs, field.Duplicate(list.Key(c.Name).Child("name"), c.Name))
		}
		names[c.Name] = true
		if c.Image == "" {
			errs = append(errs, field.Required(list.Key(c.Name).Child("image"), "must name an image: no container of the pod has this name, so the entry adds one"))
		}
		mounts := list.Key(c.Name).Child("volumeMounts")
		if c.Name == string(comp.Kind) {
			mounts = at.Child("additionalVolumeMounts")
		}
		errs = append(errs, unmountable(c, volumes, mounts)...)
	}
	return errs
}

// unmountable returns the mounts of a container that Kubernetes refuses.
func unmountable(c corev1.Container, volumes map[string]bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths := map[string]bool{}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			errs = append(errs, field.Invalid(at.Key(m.Name).Child("name"), m.Name,
				fmt.Sprintf("the pod has no such volume for container %s: name one of additionalVolumes or of storageVolumes", c.Name)))
		}
		if paths[m.MountPath] {
			errs = append(errs, field.Duplicate(at.Key(m.Name).Child("mountPath"), m.MountPath))
		}
		paths[m.MountPath] = true
	}
	return errs
}

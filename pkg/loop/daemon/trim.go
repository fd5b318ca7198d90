package daemon

import (
	"bytes"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// trim drops the fields of an object that are not read, and packs the rest. A thousand clusters have thirty thousand
// objects. The informer calls trim before it stores an object.
func trim(obj any) (any, error) {
	o, ok := obj.(encodable)
	if !ok { // packed before, or the name of a deleted object
		return obj, nil
	}
	fields := o.GetManagedFields()
	o.SetManagedFields(nil)
	switch o := o.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *appsv1.StatefulSet: // who has changed its pod template is read
		o.SetManagedFields(ofTemplate(fields))
	case *appsv1.Deployment: // only its existence is read
		o.Annotations, o.Spec, o.Status = nil, appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{}
	}
	return pack(o)
}

// ofTemplate returns the entries of managers that have written a part of the pod template.
func ofTemplate(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	for _, f := range all {
		if f.Subresource == "" && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), []byte(`"f:template"`)) {
			kept = append(kept, f)
		}
	}
	return kept
}

// trimPod keeps what package observe reads. A pod from the mirror is never written
// back, so nothing is lost.
func trimPod(p *corev1.Pod) {
	spec, status := &p.Spec, &p.Status
	p.Spec = corev1.PodSpec{
		NodeName: spec.NodeName, Volumes: claimVolumes(spec.Volumes), Containers: images(spec.Containers),
		InitContainers: sidecars(spec.InitContainers), ReadinessGates: spec.ReadinessGates, SchedulerName: spec.SchedulerName,
	}
	p.Status = corev1.PodStatus{
		Phase: status.Phase, Reason: status.Reason, Message: status.Message, Conditions: status.Conditions,
		InitContainerStatuses: status.InitContainerStatuses, ContainerStatuses: status.ContainerStatuses,
		StartTime: status.StartTime, PodIP: status.PodIP,
	}
}

func claimVolumes(all []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for i := range all {
		if all[i].PersistentVolumeClaim != nil {
			out = append(out, all[i])
		}
	}
	return out
}

// sidecars returns the init containers, of which those matter that run as long as the pod.
func sidecars(all []corev1.Container) []corev1.Container {
	var out []corev1.Container
	for i := range all {
		if all[i].RestartPolicy != nil {
			out = append(out, corev1.Container{Name: all[i].Name, RestartPolicy: all[i].RestartPolicy})
		}
	}
	return out
}

func images(all []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, len(all))
	for i := range all {
		out[i] = corev1.Container{Name: all[i].Name, Image: all[i].Image}
	}
	return out
}

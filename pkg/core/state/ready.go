package state

import corev1 "k8s.io/api/core/v1"

// ReadyCondition returns the condition Ready of a pod, without a type where it has none yet.
func ReadyCondition(p *corev1.Pod) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c
		}
	}
	return corev1.PodCondition{}
}

// Ready reports whether Kubernetes calls a pod Ready.
func Ready(p *corev1.Pod) bool { return ReadyCondition(p).Status == corev1.ConditionTrue }

// Addressed reports whether a process of a pod can be asked: the pod has an address, and it is not in a final phase, in
// which no container runs any more.
func Addressed(p *corev1.Pod) bool {
	return p.Status.PodIP != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

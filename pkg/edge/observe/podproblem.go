package observe

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// podProblem returns the first reason why a pod is not Ready, in Kubernetes' own words where it has some. Reasons
// are no node, no image, a crash, a probe, a sidecar, a readiness gate, and a node that does not report.
func podProblem(p *corev1.Pod) string {
	if text := placementProblem(p); text != "" {
		return text
	}
	switch why := join(p.Status.Reason, p.Status.Message); {
	case p.Status.Phase == corev1.PodFailed && why != "":
		return "pod failed: " + why
	case p.Status.Phase == corev1.PodSucceeded && why != "":
		return "pod has ended: " + why
	case p.Status.Phase == corev1.PodSucceeded:
		return "pod has ended, phase Succeeded"
	}
	for _, c := range append(slices.Clone(p.Status.InitContainerStatuses), p.Status.ContainerStatuses...) {
		if text := containerProblem(c); text != "" {
			return text
		}
	}
	if p.Status.Phase == corev1.PodFailed {
		return "pod failed"
	}
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return "container " + c.Name + " runs but is not ready yet"
		}
	}
	return cmp.Or(sidecarProblem(p), readyProblem(p), join(p.Status.Reason, p.Status.Message), "pod is starting")
}

// placementProblem returns why a pod has no node.
func placementProblem(p *corev1.Pod) string {
	i := slices.IndexFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	switch name := p.Spec.SchedulerName; {
	case i >= 0 && p.Status.Conditions[i].Status == corev1.ConditionFalse:
		return join(p.Status.Conditions[i].Reason, p.Status.Conditions[i].Message)
	case i < 0 && p.Spec.NodeName == "" && p.Status.Phase == corev1.PodPending && name != "" && name != corev1.DefaultSchedulerName:
		return "no scheduler has looked at the pod, whose schedulerName is " + name
	}
	return ""
}

// sidecarProblem returns which native sidecar is not ready: an init container that runs as long as the pod. The
// containers wait for its start, and the pod is not Ready without it.
func sidecarProblem(p *corev1.Pod) string {
	for _, spec := range p.Spec.InitContainers {
		if spec.RestartPolicy == nil || *spec.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		for _, c := range p.Status.InitContainerStatuses {
			switch running := c.Name == spec.Name && c.State.Running != nil; {
			case running && (c.Started == nil || !*c.Started) && !c.Ready:
				return "sidecar " + c.Name + " runs but has not started yet"
			case running && !c.Ready:
				return "sidecar " + c.Name + " runs but is not ready"
			}
		}
	}
	return ""
}

// readyProblem returns why a pod is not Ready although all of its containers are.
func readyProblem(p *corev1.Pod) string {
	conditions := map[corev1.PodConditionType]corev1.PodCondition{}
	for _, c := range p.Status.Conditions {
		conditions[c.Type] = c
	}
	ready, known := conditions[corev1.PodReady]
	all := len(p.Status.ContainerStatuses) > 0 &&
		!slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return !c.Ready })
	if !known || ready.Status == corev1.ConditionTrue || !all {
		return ""
	}
	for _, g := range p.Spec.ReadinessGates {
		switch c, set := conditions[g.ConditionType]; {
		case !set:
			return fmt.Sprintf("readiness gate %s is not set", g.ConditionType)
		case c.Status != corev1.ConditionTrue:
			return join(fmt.Sprintf("readiness gate %s is %s", g.ConditionType, c.Status), join(c.Reason, c.Message))
		}
	}
	if ready.Reason != "" || ready.Message != "" {
		return join(ready.Reason, ready.Message)
	}
	// Kubernetes' node controller sets the condition without a reason.
	return fmt.Sprintf("node %s does not report: the pod is not Ready although its containers were", p.Spec.NodeName)
}

// containerProblem returns why a container does not run.
func containerProblem(c corev1.ContainerStatus) string {
	switch t, w := c.State.Terminated, c.State.Waiting; {
	case t != nil && t.ExitCode != 0:
		return fmt.Sprintf("container %s ended with exit code %d: %s", c.Name, t.ExitCode, t.Reason)
	case w == nil, w.Reason == "PodInitializing":
		return ""
	case w.Reason == "ErrImagePull", w.Reason == "ImagePullBackOff":
		// Kubernetes alternates between the two, each with a long message.
		return fmt.Sprintf("image %s cannot be pulled", c.Image)
	case w.Reason == "CrashLoopBackOff" && c.LastTerminationState.Terminated != nil:
		return fmt.Sprintf("container %s crashes again and again, last with exit code %d",
			c.Name, c.LastTerminationState.Terminated.ExitCode)
	default:
		return join(w.Reason, w.Message)
	}
}

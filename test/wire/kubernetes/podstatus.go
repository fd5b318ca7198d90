package kubernetes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// statusOf returns the status of a pod. It has what the kubelet has reported last, by its own clock, and what
// Kubernetes says itself.
func (b *Bridge) statusOf(k topology.Kind, p sim.ShownPod, pod *corev1.Pod) corev1.PodStatus {
	out := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: pod.Status.QOSClass}
	if p.Node == "" {
		reason, message, _ := strings.Cut(p.Problem, ": ")
		out.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(p.Made),
		}}
		return out
	}
	began := metav1.NewTime(p.Made.Add(p.Ahead))
	out.StartTime = &began
	out.HostIP = "192.168.0.1"
	switch {
	case p.Ended:
		out.Phase, out.Reason = corev1.PodFailed, "Evicted"
	case p.Ran:
		out.Phase = corev1.PodRunning
	}
	if p.Ran {
		out.PodIP = addressOf(k, p)
		out.PodIPs = []corev1.PodIP{{IP: out.PodIP}}
	}
	ready := p.Ready || p.Unheard && p.Running // by the last report
	for _, c := range pod.Spec.Containers {
		out.ContainerStatuses = append(out.ContainerStatuses, containerStatus(c, p, ready && !p.Ended))
	}
	out.Conditions = conditions(p, ready)
	keepTimes(pod.Status.Conditions, out.Conditions)
	return out
}

// keepTimes leaves the time of each condition whose status has not changed.
func keepTimes(before, after []corev1.PodCondition) {
	for _, b := range before {
		for i := range after {
			if a := &after[i]; a.Type == b.Type && a.Status == b.Status {
				a.LastTransitionTime = b.LastTransitionTime
			}
		}
	}
}

func conditions(p sim.ShownPod, containers bool) []corev1.PodCondition {
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Made)}
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: boolean(p.Ready), LastTransitionTime: metav1.NewTime(readySince(p))}
	all := corev1.PodCondition{Type: corev1.ContainersReady, Status: boolean(containers && !p.Ended), LastTransitionTime: ready.LastTransitionTime}
	if !p.Ready && !p.Unheard {
		ready.Reason, all.Reason = "ContainersNotReady", "ContainersNotReady"
	}
	if p.Ended {
		ready.Reason, all.Reason = "PodFailed", "PodFailed"
	}
	return []corev1.PodCondition{scheduled, ready, all}
}

// readySince returns when Ready last changed, by the clock of the host. Where Kubernetes has missed its reports,
// Kubernetes' own clock counts.
func readySince(p sim.ShownPod) time.Time {
	switch {
	case p.Terminating: // then nobody reads it
		return p.Made
	case p.Unheard:
		return p.Since
	}
	return p.Since.Add(p.Ahead)
}

func boolean(yes bool) corev1.ConditionStatus {
	if yes {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// containerStatus returns what a kubelet says of a container. All containers of a pod are alike.
func containerStatus(c corev1.Container, p sim.ShownPod, ready bool) corev1.ContainerStatus {
	out := corev1.ContainerStatus{Name: c.Name, Image: c.Image, RestartCount: int32(p.Restarts), Ready: ready}
	started := p.Running && !p.Ended
	out.Started = &started
	last := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", StartedAt: host(p, p.LastStarted), FinishedAt: host(p, p.LastEnded)}
	if !p.LastEnded.IsZero() {
		out.LastTerminationState.Terminated = last
	}
	switch {
	case p.Running:
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: host(p, p.Started)}
	case p.Ended:
		out.State.Terminated = last
		out.State.Terminated.ExitCode = 137
		out.LastTerminationState = corev1.ContainerState{}
	case !p.Ran:
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: p.Problem}
		if p.Problem == "CrashLoopBackOff" {
			out.State.Waiting.Reason = "CreateContainerError" // it is to be accepted by the others first
		}
	default:
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
		out.LastTerminationState.Terminated = last
	}
	return out
}

// host returns a time by the clock of a pod's host, and an unknown time as it is.
func host(p sim.ShownPod, t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Add(p.Ahead))
}

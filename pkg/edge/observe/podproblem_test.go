package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestPodProblemInKubernetesWords: what keeps a pod from being Ready while none of its containers has a problem.
func TestPodProblemInKubernetesWords(t *testing.T) {
	container := func(name string, ready bool) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Ready: ready, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	}
	ended := corev1.ContainerStatus{Name: "tikv", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}
	waits := corev1.ContainerStatus{Name: "tikv", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}}
	not := func(kind corev1.PodConditionType, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
	}
	always := corev1.ContainerRestartPolicyAlways
	sidecar := corev1.PodSpec{InitContainers: []corev1.Container{{Name: "setup"}, {Name: "istio-proxy", RestartPolicy: &always}, {Name: "linkerd-proxy", RestartPolicy: &always}}}
	gate := corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "health.example/db"}}}
	started := container("istio-proxy", false)
	started.Started = new(bool)
	*started.Started = true
	starts := container("linkerd-proxy", false)
	starts.Started = new(bool)
	of := func(c ...corev1.ContainerStatus) []corev1.ContainerStatus { return c }
	for want, p := range map[string]corev1.Pod{
		"readiness gate health.example/db is False: Target.Failed: checks failed": {Spec: gate, Status: corev1.PodStatus{
			ContainerStatuses: of(container("tidb", true)),
			Conditions:        []corev1.PodCondition{not("health.example/db", "Target.Failed", "checks failed"), not(corev1.PodReady, "ReadinessGatesNotReady", "x")}}},
		"readiness gate health.example/db is not set": {Spec: gate, Status: corev1.PodStatus{
			ContainerStatuses: of(container("tidb", true)), Conditions: []corev1.PodCondition{not(corev1.PodReady, "ReadinessGatesNotReady", "x")}}},
		"node n7 does not report: the pod is not Ready although its containers were": {Spec: corev1.PodSpec{NodeName: "n7"}, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: of(container("tikv", true)), Conditions: []corev1.PodCondition{not(corev1.PodReady, "", "")}}},
		"SomeReason: its text": {Status: corev1.PodStatus{
			ContainerStatuses: of(container("tikv", true)), Conditions: []corev1.PodCondition{not(corev1.PodReady, "SomeReason", "its text")}}},
		"pod has ended: Terminated: imminent node shutdown": {Status: corev1.PodStatus{
			Phase: corev1.PodSucceeded, Reason: "Terminated", Message: "imminent node shutdown", ContainerStatuses: of(ended)}},
		"pod has ended, phase Succeeded": {Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: of(ended)}},
		"pod failed":                     {Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: of(ended)}},
		"sidecar istio-proxy runs but has not started yet": {Spec: sidecar, Status: corev1.PodStatus{
			Phase: corev1.PodPending, InitContainerStatuses: of(container("istio-proxy", false)), ContainerStatuses: of(waits)}},
		"sidecar linkerd-proxy runs but has not started yet": {Spec: sidecar, Status: corev1.PodStatus{
			Phase: corev1.PodPending, InitContainerStatuses: of(starts), ContainerStatuses: of(waits)}},
		"sidecar istio-proxy runs but is not ready": {Spec: sidecar, Status: corev1.PodStatus{
			Phase: corev1.PodRunning, InitContainerStatuses: of(started), ContainerStatuses: of(container("tikv", true)),
			Conditions: []corev1.PodCondition{not(corev1.PodReady, "ContainersNotReady", "[istio-proxy]")}}},
		"no scheduler has looked at the pod, whose schedulerName is volcano": {
			Spec: corev1.PodSpec{SchedulerName: "volcano"}, Status: corev1.PodStatus{Phase: corev1.PodPending}},
		"pod is starting": {Spec: sidecar, Status: corev1.PodStatus{
			Phase: corev1.PodPending, InitContainerStatuses: of(container("setup", false)), ContainerStatuses: of(waits)}},
	} {
		if got := podProblem(&p); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	early := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{not(corev1.PodReady, "SomeReason", "its text")}}}
	if got := podProblem(&early); got == "SomeReason: its text" {
		t.Errorf("got %q for a pod of which no container is reported", got)
	}
}

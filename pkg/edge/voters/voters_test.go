package voters

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestStopped: a silent member of PD counts as stopped only where nothing can have started its process since. Else PD
// would seem to have no quorum, and a member that PD needs could be restarted.
func TestStopped(t *testing.T) {
	ended := &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(noon.Add(-2 * time.Minute))}
	crashed := corev1.ContainerStatus{Name: "pd", LastTerminationState: corev1.ContainerState{Terminated: ended}}
	running := corev1.ContainerStatus{Name: "pd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod := func(ip string, phase corev1.PodPhase, c ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour))},
			Spec:       corev1.PodSpec{NodeName: "host"},
			Status:     corev1.PodStatus{PodIP: ip, Phase: phase, ContainerStatuses: c},
		}
	}
	for name, c := range map[string]struct {
		pod   *corev1.Pod
		ready corev1.ConditionStatus // of the host, "" where it cannot be read
		want  bool
	}{
		"no pod":                                   {nil, "", true},
		"no host":                                  {&corev1.Pod{}, "", true},
		"no address":                               {pod("", corev1.PodPending), "", true},
		"runs":                                     {pod("10.0.0.1", corev1.PodRunning, running), corev1.ConditionTrue, false},
		"has crashed, the host is heard":           {pod("10.0.0.1", corev1.PodRunning, crashed), corev1.ConditionTrue, true},
		"has crashed, the host is not heard":       {pod("10.0.0.1", corev1.PodRunning, crashed), corev1.ConditionUnknown, false},
		"has crashed, the host may not be read":    {pod("10.0.0.1", corev1.PodRunning, crashed), "", false},
		"final phase, the host is heard":           {pod("10.0.0.1", corev1.PodFailed, crashed), corev1.ConditionTrue, true},
		"final phase, the host is not heard":       {pod("10.0.0.1", corev1.PodFailed, crashed), corev1.ConditionUnknown, false},
		"final phase, the host may not be read":    {pod("10.0.0.1", corev1.PodFailed, crashed), "", false},
		"final phase before it had an address":     {pod("", corev1.PodFailed), corev1.ConditionUnknown, true},
		"final phase, a report that is an old one": {pod("10.0.0.1", corev1.PodFailed, running), corev1.ConditionUnknown, false},
	} {
		kube := fake.NewClientset()
		if c.ready != "" {
			kube = fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "host"}, Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: c.ready}},
			}})
		}
		r := Reader{Kube: kube, Now: func() time.Time { return noon }}
		if got := r.Stopped(t.Context(), c.pod); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

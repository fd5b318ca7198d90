package wire

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
	"github.com/kubectl-tidb/kubectl-tidb/test/wire/kubernetes"
)

// TestWhyAPodIsNotReady: a pod does not become Ready for a reason that only Kubernetes knows. The run says this reason,
// and not that the pod is starting.
func TestWhyAPodIsNotReady(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 1}, func(t *testing.T, w *World) {
		for i, tt := range []struct {
			report func(*corev1.Pod)
			want   string
		}{
			{gated, "readiness gate example.com/balancer is not set"},
			{waitsForSidecar, "sidecar mesh runs but has not started yet"},
			{onALostNode, "does not report: the pod is not Ready although its containers were"},
			{withoutScheduler, "no scheduler has looked at the pod, whose schedulerName is nobody"},
		} {
			w.kube.Report(func(p *corev1.Pod) {
				if p.Name == "basic-tidb-1" {
					tt.report(p)
				}
			})
			command := []string{"sync", "basic"}
			if i == 0 {
				command = []string{"scale", "basic", "tidb=2"}
			}
			text, _ := w.attempt(t, time.Minute, append(command, "--yes")...)
			wantText(t, text, tt.want)
		}
		w.kube.Report(nil)
	})
}

// setReady sets the condition Ready of a pod, without a reason.
func setReady(p *corev1.Pod, is corev1.ConditionStatus) {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodReady {
			c.Status, c.Reason, c.Message = is, "", ""
		}
	}
}

// gated has a pod wait for a load balancer.
func gated(p *corev1.Pod) {
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/balancer"}}
	setReady(p, corev1.ConditionFalse)
}

// waitsForSidecar has the containers of a pod wait for a native sidecar.
func waitsForSidecar(p *corev1.Pod) {
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.ReadinessGates = nil
	p.Spec.InitContainers = []corev1.Container{{Name: "mesh", Image: "mesh:v1", RestartPolicy: &always}}
	p.Status.Phase = corev1.PodPending
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		c.Ready, c.State = false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	}
	setReady(p, corev1.ConditionFalse)
}

// onALostNode is a pod whose node does not report: the node controller has set the condition, and gives no reason.
func onALostNode(p *corev1.Pod) {
	p.Spec.InitContainers = nil
	setReady(p, corev1.ConditionFalse)
}

// withoutScheduler is a pod that names a scheduler that nobody runs.
func withoutScheduler(p *corev1.Pod) {
	p.Spec.SchedulerName, p.Spec.NodeName = "nobody", ""
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
}

// TestPriorityClassMissing: the pods of a new template name a PriorityClass that does not exist, so that none is made.
// The run says so, and not that there is no pod.
func TestPriorityClassMissing(t *testing.T) {
	scenario(t, sim.Options{PD: 1, TiKV: 3, TiDB: 2}, func(t *testing.T, w *World) {
		w.kube.Deny(`pods "basic-tidb-1" is forbidden: no PriorityClass with name critical was found`)
		w.changeCluster(func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(u.Object, "refused", "spec", "tidb", "annotations", kubernetes.Flaw)
		})
		text, _ := w.attempt(t, time.Minute, "sync", "basic", "--yes")
		wantText(t, text, "there is no PriorityClass critical, which spec.tidb.priorityClassName names")
	})
}

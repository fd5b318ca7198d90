package database

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/sim"
)

// The Kubernetes half of a model as far as the database half of an observation depends on it.

// tidbCluster returns the TidbCluster of a model. sizes are how many members it asks for.
func tidbCluster(m *sim.Model, shown state.Snapshot) *v1alpha1.TidbCluster {
	disk := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}}
	size := func(k topology.Kind) int32 { return int32(shown.Groups[k].Set.Replicas) } //nolint:gosec // few
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.5.0",
			PD:      &v1alpha1.PDSpec{Replicas: size(topology.PD), ResourceRequirements: disk},
			TiKV:    &v1alpha1.TiKVSpec{Replicas: size(topology.TiKV), ResourceRequirements: disk},
			TiDB:    &v1alpha1.TiDBSpec{Replicas: size(topology.TiDB)},
		},
	}
	if m.TiFlash > 0 {
		tc.Spec.TiFlash = &v1alpha1.TiFlashSpec{Replicas: size(topology.TiFlash), StorageClaims: []v1alpha1.StorageClaim{{Resources: disk}}}
	}
	if m.TiProxy > 0 {
		tc.Spec.TiProxy = &v1alpha1.TiProxySpec{Replicas: size(topology.TiProxy)}
	}
	if m.TiCDC > 0 {
		tc.Spec.TiCDC = &v1alpha1.TiCDCSpec{Replicas: size(topology.TiCDC)}
	}
	if m.Pump > 0 {
		tc.Spec.Pump = &v1alpha1.PumpSpec{Replicas: size(topology.Pump), ResourceRequirements: disk}
	}
	if stores, _ := m.Stores(); len(stores) > 0 {
		tc.Status.TiKV.BootStrapped = true
	}
	return tc
}

// objects returns pods, claims and nodes.
func objects(m *sim.Model, c topology.Cluster, shown state.Snapshot) []runtime.Object {
	var all []runtime.Object
	silent := map[string]bool{}
	for _, k := range sim.Kinds() {
		for _, p := range m.ShownPods(k) {
			silent[p.Node] = silent[p.Node] || p.Unheard
			all = append(all, podOf(c, k, p, shown.Groups[k].Members[p.Ordinal]))
		}
		for _, claim := range m.ShownClaims(k) {
			labels := c.Labels(k)
			for _, held := range shown.Groups[k].Members[claim.Ordinal].Claims {
				for key, value := range held.Identity.Labels {
					labels[key] = value
				}
			}
			all = append(all, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: c.Namespace, Name: claim.Name, Labels: labels, CreationTimestamp: metav1.NewTime(m.ClaimMade(k, claim.Ordinal)),
			}})
		}
	}
	for i := range 16 {
		name, ready := fmt.Sprintf("node-%d", i), corev1.ConditionTrue
		if silent[name] {
			ready = corev1.ConditionUnknown
		}
		all = append(all, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		})
	}
	return all
}

func podOf(c topology.Cluster, k topology.Kind, p sim.ShownPod, shown state.Member) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.PodName(k, p.Ordinal), Labels: c.Labels(k), CreationTimestamp: metav1.NewTime(p.Made),
			Annotations: map[string]string{},
		},
		Spec:   corev1.PodSpec{NodeName: p.Node, Containers: []corev1.Container{{Name: string(k)}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: new(metav1.NewTime(p.Made.Add(p.Ahead)))},
	}
	ready := corev1.ConditionFalse
	if p.Ready {
		ready = corev1.ConditionTrue
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.Made)},
		{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(p.Since)},
	}
	if p.Terminating {
		pod.DeletionTimestamp = new(metav1.NewTime(p.Since))
	}
	if shown.Database.Pump.State == state.PumpClosing {
		pod.Annotations[topology.AnnotationClosing] = strconv.Itoa(p.Restarts)
	}
	if p.Ran {
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	}
	if p.Ended {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{container(k, p)}
	return pod
}

func container(k topology.Kind, p sim.ShownPod) corev1.ContainerStatus {
	out := corev1.ContainerStatus{Name: string(k), RestartCount: int32(p.Restarts)} //nolint:gosec // few
	if p.Running && !p.Ended {
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.Started.Add(p.Ahead))}
	} else {
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	}
	if !p.LastEnded.IsZero() {
		out.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(p.LastStarted.Add(p.Ahead)), FinishedAt: metav1.NewTime(p.LastEnded.Add(p.Ahead)),
		}
	}
	return out
}

// has reports whether a model has a component.
func has(c topology.Cluster, k topology.Kind) bool {
	return slices.ContainsFunc(c.Groups, func(g topology.Group) bool { return g.Kind == k })
}

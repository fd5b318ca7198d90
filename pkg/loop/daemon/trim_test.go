package daemon

import (
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A daemon has to know who has changed a pod template, or it would write against a webhook without an end.
func TestKeepsWritersOfTemplates(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv", Namespace: "db"}}
	set.ManagedFields = []metav1.ManagedFieldsEntry{
		entry("kubectl-set", "", `{"f:spec":{"f:template":{}}}`), entry("kubectl-annotate", "", `{"f:metadata":{}}`),
		entry("kube-controller-manager", "status", `{"f:spec":{"f:template":{}}}`), {Manager: "old"},
	}
	got, err := decode(&appsv1.StatefulSet{}, keep(t, set).(*packed))
	if err != nil {
		t.Fatal(err)
	}
	if kept := got.(*appsv1.StatefulSet).ManagedFields; len(kept) != 1 || kept[0].Manager != "kubectl-set" || kept[0].FieldsV1 == nil {
		t.Errorf("%+v", kept)
	}
}

// TestKeepsWhyPodsAreNotReady: a daemon says of a pod what a command says, so its copy has what names a readiness gate,
// a sidecar, another scheduler, a finalizer and a final phase.
func TestKeepsWhyPodsAreNotReady(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "basic-tikv-0", Namespace: "db", Finalizers: []string{"a.example/x"}},
		Spec: corev1.PodSpec{
			NodeName: "n1", SchedulerName: "mine", ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "health.example/db"}},
			InitContainers: []corev1.Container{{Name: "istio-proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
			Containers:     []corev1.Container{{Name: "tikv", Image: "pingcap/tikv:v8.5.2"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"},
	}
	got, err := decode(&corev1.Pod{}, keep(t, pod.DeepCopy()).(*packed))
	if err != nil || !reflect.DeepEqual(got, pod) {
		t.Errorf("%v, %+v", err, got)
	}
}

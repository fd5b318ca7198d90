package state_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

func TestReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false} {
		p := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status},
		}}}
		if got := state.Ready(p); got != want || state.ReadyCondition(p).Type != corev1.PodReady {
			t.Errorf("%s: %t", status, got)
		}
	}
	scheduled := corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}}
	if p := (&corev1.Pod{Status: scheduled}); state.Ready(p) || state.ReadyCondition(p).Type != "" {
		t.Error("a pod without the condition is ready")
	}
}

package observe

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSet: fields that are not set have defaults; for pod management it is OrderedReady.
func TestSet(t *testing.T) {
	one := int32(1)
	s := &appsv1.StatefulSet{}
	if got := set(s); !got.Exists || !got.Ordered || got.Manual || got.Replicas != 1 || got.Partition != 0 {
		t.Errorf("%+v", got)
	}
	s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	if got := set(s); got.Ordered || !got.Manual {
		t.Errorf("%+v", got)
	}
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type:          appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &one},
	}
	if got := set(s); got.Manual || got.Partition != 1 {
		t.Errorf("%+v", got)
	}
	at := func(manager, subresource string, minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &metav1.Time{Time: noon.Add(time.Duration(minute) * time.Minute)}}
	}
	s.ManagedFields = []metav1.ManagedFieldsEntry{at("kubectl-edit", "", 2), at("kubectl-tidb", "", 1), at("kube-controller-manager", "status", 3), {Manager: "old"}}
	if got := set(s); got.Writer != "kubectl-edit" || !got.Written.Equal(noon.Add(2*time.Minute)) {
		t.Errorf("written by %s at %s", got.Writer, got.Written)
	}
	if got := set(s); got.DeletesWhenScaled || got.DeletesWhenDeleted {
		t.Errorf("claims are deleted: %+v", got)
	}
	s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
	}
	if got := set(s); !got.DeletesWhenScaled || got.DeletesWhenDeleted {
		t.Errorf("claims are not deleted: %+v", got)
	}
	s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 3}
	s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
	if got := set(s); got.Start != 3 || got.Partition != 5 {
		t.Errorf("the first ordinal is %d, want 3; the partition is %d, want 5", got.Start, got.Partition)
	}
	if got := set(nil); got.Exists {
		t.Errorf("%+v", got)
	}
}

package observe

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
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
	if got := set(nil); got.Exists {
		t.Errorf("%+v", got)
	}
}

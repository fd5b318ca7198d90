package render

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Resized returns a live StatefulSet with other replicas and slots. A closed partition stays closed for the
// new ordinals, an open partition stays as it is. Only an AdvancedStatefulSet can have slots.
func Resized(live *appsv1.StatefulSet, replicas int, slots []int) *appsv1.StatefulSet {
	result := live.DeepCopy()
	n := int32(replicas)
	result.Spec.Replicas = &n
	if state.IsAdvanced(live.APIVersion) {
		setSlots(result, slots)
	}
	if p := partition(live); p != nil && *p >= closedPartition(live) {
		end := closedPartition(result)
		result.Spec.UpdateStrategy.RollingUpdate.Partition = &end
	}
	return recorded(result)
}

// closedPartition returns the partition that keeps all pods of a StatefulSet as they are. It counts from the first
// ordinal.
func closedPartition(set *appsv1.StatefulSet) int32 {
	ordinals := state.OrdinalsOf(set)
	return int32(ordinals.End() - ordinals.Start)
}

// WithPartition returns a live StatefulSet whose pods from an ordinal on may be replaced. With OnDelete there is no
// partition.
func WithPartition(live *appsv1.StatefulSet, to int) *appsv1.StatefulSet {
	result := live.DeepCopy()
	strategy := &result.Spec.UpdateStrategy
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return result
	}
	if strategy.RollingUpdate == nil {
		strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
	}
	n := int32(max(to-state.OrdinalsOf(live).Start, 0))
	strategy.RollingUpdate.Partition = &n
	delete(result.Annotations, topology.AnnotationInBatches) // a later OnDelete is not ours
	return recorded(result)
}

// recorded updates the record of a StatefulSet whose template has not changed. It keeps the
// template of the record, which has no defaults of an API server, unlike the live template. Without
// a record there is nothing to refresh.
func recorded(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	applied, ok := lastApplied[appsv1.StatefulSetSpec](set.ObjectMeta)
	if !ok {
		return set
	}
	spec := *set.Spec.DeepCopy()
	spec.Template = applied.Template
	if byHand(set, applied) {
		spec.UpdateStrategy = applied.UpdateStrategy // otherwise the next comparison would find a difference
	}
	setLastApplied(&set.ObjectMeta, spec)
	return set
}

// Partition returns the lowest ordinal of a pod that Kubernetes may replace. The partition of a StatefulSet counts from
// the ordinal of its first pod.
func Partition(set *appsv1.StatefulSet) int {
	from := state.OrdinalsOf(set).Start
	if p := partition(set); p != nil {
		from += int(*p)
	}
	return from
}

func replicasOf(set *appsv1.StatefulSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

func partition(set *appsv1.StatefulSet) *int32 {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil {
		return r.Partition
	}
	return nil
}

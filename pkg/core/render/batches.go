package render

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// RestartsInBatches reports whether a live StatefulSet leaves the order of restarts to a run of ours. A person or a
// tidb-operator that has set another strategy since has ended that, although the annotation is there.
func RestartsInBatches(live *appsv1.StatefulSet) bool {
	return live.Annotations[topology.AnnotationInBatches] != "" && live.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType
}

// InBatches returns a live StatefulSet whose pods are replaced only where a run deletes them.
func InBatches(live *appsv1.StatefulSet) *appsv1.StatefulSet {
	result := live.DeepCopy()
	result.Annotations = union(live.Annotations, map[string]string{topology.AnnotationInBatches: "true"})
	result.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	return result
}

// InOrder returns a live StatefulSet after its batches, with an open partition.
func InOrder(live *appsv1.StatefulSet) *appsv1.StatefulSet {
	result := live.DeepCopy()
	result.Spec.UpdateStrategy = updateStrategy(false, 0)
	return WithPartition(result, state.OrdinalsOf(live).Start)
}

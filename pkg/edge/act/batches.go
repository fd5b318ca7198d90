package act

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

func (a *Actor) beginBatches(ctx context.Context, s step.BeginBatches) error {
	return a.edit(ctx, s.Component, s.Basis, func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		switch {
		case render.RestartsInBatches(live):
			return live, nil
		case live.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
			return nil, stale(object, "leaves restarts to the user now (OnDelete)")
		}
		return render.InBatches(live), nil
	})
}

// endBatches opens the partition. So the StatefulSet must have no pod of an old revision, because Kubernetes would
// restart the pod at once.
func (a *Actor) endBatches(ctx context.Context, s step.EndBatches) error {
	return a.edit(ctx, s.Component, s.Basis, func(object string, live *appsv1.StatefulSet) (*appsv1.StatefulSet, error) {
		switch {
		case !render.RestartsInBatches(live):
			return live, nil
		case live.Status.ObservedGeneration < live.Generation:
			return nil, stale(object, "has changed and its controller has yet to see it")
		case int(live.Status.UpdatedReplicas) < state.OrdinalsOf(live).Count:
			return nil, stale(object, "has pods of an old revision")
		}
		return render.InOrder(live), nil
	})
}

package act

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// onDelete gives a StatefulSet the update strategy OnDelete.
func onDelete(s *appsv1.StatefulSet) {
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

// batched is a StatefulSet whose pods a run restarts in batches, and all of them have the update revision.
func batched(t *testing.T) *appsv1.StatefulSet {
	t.Helper()
	w := newFixture(t, set(topology.TiKV, 3, 3))
	w.do(t, step.BeginBatches{Component: topology.TiKV, Basis: basisOf(set(topology.TiKV, 3, 3))})
	live := liveSet(t, w, topology.TiKV)
	live.Status.UpdatedReplicas, live.Status.ObservedGeneration = 3, live.Generation
	return live
}

func basisOf(s *appsv1.StatefulSet) step.Basis {
	return step.Basis{UID: string(s.UID), Generation: s.Generation}
}

// TestBatches: a StatefulSet leaves the order of restarts to the run, and takes it back with an open partition when all
// pods have the update revision. The record of what was applied stays, so that the spec does not seem to differ.
func TestBatches(t *testing.T) {
	live := batched(t)
	if !render.RestartsInBatches(live) || live.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		t.Fatalf("after the beginning: %+v, %v", live.Spec.UpdateStrategy, live.Annotations)
	}
	w := newFixture(t, live)
	end := step.EndBatches{Component: topology.TiKV, Basis: basisOf(live)}
	w.do(t, end)
	after := liveSet(t, w, topology.TiKV)
	if render.RestartsInBatches(after) || after.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType || render.Partition(after) != 0 {
		t.Errorf("after the end: %+v, %v", after.Spec.UpdateStrategy, after.Annotations)
	}
	w.do(t, end) // its answer was lost
}

// TestBatchesStale: neither is done where a person has set OnDelete, where the spec has changed, or where the partition
// would be opened for a pod of an old revision.
func TestBatchesStale(t *testing.T) {
	live := set(topology.TiKV, 3, 3)
	begin := step.BeginBatches{Component: topology.TiKV, Basis: basisOf(live)}
	onDelete(live)
	newFixture(t, live).isStale(t, begin)
	changed := set(topology.TiKV, 3, 3)
	changed.Generation++
	newFixture(t, changed).isStale(t, begin)
	for name, change := range map[string]func(*appsv1.StatefulSet){
		"a pod of an old revision": func(s *appsv1.StatefulSet) { s.Status.UpdatedReplicas = 2 },
		"a status of an old spec":  func(s *appsv1.StatefulSet) { s.Status.ObservedGeneration-- },
	} {
		live := batched(t)
		change(live)
		t.Run(name, func(t *testing.T) {
			newFixture(t, live).isStale(t, step.EndBatches{Component: topology.TiKV, Basis: basisOf(live)})
		})
	}
}

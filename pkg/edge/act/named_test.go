package act

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestRestartNamed: the pod of a member that a user has named is deleted, and the partition stays; but only if
// the next pod has the revision that was decided on.
func TestRestartNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		change   func(*appsv1.StatefulSet)
		revision string
		deletes  bool
	}{
		"all have the update revision": {func(s *appsv1.StatefulSet) { s.Status.CurrentRevision = "new" }, "new", true},
		"the partition is open":        {func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(1)) }, "new", true},
		"the partition holds it back":  {func(*appsv1.StatefulSet) {}, "new", false},
		"the template has changed":     {func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "newer" }, "new", false},
		"its change was not seen yet":  {func(s *appsv1.StatefulSet) { s.Status.CurrentRevision, s.Generation = "new", 7 }, "new", false},
		"there is no such ordinal":     {func(s *appsv1.StatefulSet) { s.Status.CurrentRevision, s.Spec.Replicas = "new", new(int32(1)) }, "new", false},
		"with OnDelete": {func(s *appsv1.StatefulSet) {
			s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		}, "new", true},
	} {
		t.Run(name, func(t *testing.T) {
			live := set(topology.TiKV, 3, 3)
			live.Status.CurrentRevision, live.Status.UpdateRevision = "old", "new"
			tt.change(live)
			w := newFixture(t, live, pod(topology.TiKV, 1))
			s := restartOf(1, 3, false)
			s.Revision = tt.revision
			if !tt.deletes {
				w.isStale(t, s)
				return
			}
			before := render.Partition(live)
			w.do(t, s)
			if got := render.Partition(liveSet(t, w, topology.TiKV)); got != before {
				t.Errorf("partition %d, it was %d", got, before)
			}
			if _, err := w.kube.CoreV1().Pods("db").Get(t.Context(), s.Member, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("the pod is still there: %v", err)
			}
		})
	}
	s := restartOf(1, 3, false)
	s.Revision, s.PodUID = "new", "another"
	newFixture(t, set(topology.TiKV, 3, 0), pod(topology.TiKV, 1)).isStale(t, s)
}

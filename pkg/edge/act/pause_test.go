package act

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestEndPause: a pause ends when its time is over. One that was made longer since the decision,
// or that a tool has begun, stays.
func TestEndPause(t *testing.T) {
	s := step.EndPause{By: "ann@laptop", Until: now}
	pausing := func(manager string, until time.Time) *fixture {
		w := newFixture(t)
		w.intent.tc.UID = cluster.UID
		topology.SetPause(&w.intent.tc, topology.Pause{By: "ann@laptop", Since: now.Add(-time.Hour), Until: until})
		w.intent.tc.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`),
		}}
		return w
	}
	w := pausing(topology.PauseManager, now)
	for range 2 { // a lost answer does no harm
		if err := w.Do(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if w.intent.tc.Spec.Paused || w.intent.tc.Annotations[topology.AnnotationPause] != "" || w.intent.patches != 1 {
		t.Errorf("%+v after %d writes", w.intent.tc.Spec.Paused, w.intent.patches)
	}
	again := pausing(topology.PauseManager, now)
	again.intent.tc.UID = "another"
	for name, w := range map[string]*fixture{
		"longer": pausing(topology.PauseManager, now.Add(time.Second)), "by a tool": pausing("argocd-controller", now),
		"without end": pausing(topology.PauseManager, time.Time{}), "another TidbCluster": again,
	} {
		if err := w.Do(t.Context(), s); !errors.As(err, new(*Stale)) || !w.intent.tc.Spec.Paused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

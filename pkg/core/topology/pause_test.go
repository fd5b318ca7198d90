package topology

import (
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed returns a TidbCluster that was paused by a person for an hour, and the owners of whose
// spec.paused are these.
func managed(owners ...string) *v1alpha1.TidbCluster {
	tc := &v1alpha1.TidbCluster{}
	SetPause(tc, Pause{By: "ann@laptop", Since: noon, Until: noon.Add(time.Hour), Reason: "new switches"})
	tc.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl-tidb", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:version":{},"f:tikv":{"f:paused":{}}}}`)},
		{Manager: "broken", FieldsV1: metav1.NewFieldsV1(`[`)},
		{Manager: "none"},
	}
	for _, o := range owners {
		tc.ManagedFields = append(tc.ManagedFields, metav1.ManagedFieldsEntry{Manager: o, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{".":{},"f:paused":{}}}`)})
	}
	return tc
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestPause: the record of a pause counts only while nothing but "kubectl tidb pause" has set
// spec.paused. A pause of a GitOps tool must not end by the time of an earlier one.
func TestPause(t *testing.T) {
	unreadable, resumed := managed(PauseManager), managed(PauseManager)
	unreadable.Annotations[AnnotationPause] = "{"
	resumed.Spec.Paused = false
	for _, c := range []struct {
		name string
		tc   *v1alpha1.TidbCluster
		says string
		over bool
	}{
		{"recorded", managed(PauseManager), "paused by ann@laptop since 2026-03-01T12:00:00Z until 2026-03-01T13:00:00Z: new switches", true},
		{"a tool", managed("argocd-controller"), "paused: spec.paused was set by argocd-controller", false},
		{"a tool as well", managed(PauseManager, "flux"), "paused: spec.paused was set by kubectl-tidb-pause, flux", false},
		{"nobody", managed(), "paused: spec.paused is set, and it is not known by whom", false},
		{"unreadable", unreadable, "paused: spec.paused was set by kubectl-tidb-pause", false},
	} {
		p := New(c.tc).Pause
		if p.String() != c.says || p.Over(noon.Add(time.Hour)) != c.over {
			t.Errorf("%s: %q, over %t", c.name, p, !c.over)
		}
	}
	if p := New(managed(PauseManager)).Pause; p.Over(noon.Add(time.Hour - 1)) {
		t.Error("it is over before its time")
	}
	if p := New(resumed).Pause; p != (Pause{}) {
		t.Errorf("not paused, and %+v", p)
	}
}

// TestEndPause: nothing of a pause is left.
func TestEndPause(t *testing.T) {
	tc := managed(PauseManager)
	tc.Annotations["kept"] = "yes"
	EndPause(tc)
	if tc.Spec.Paused || len(tc.Annotations) != 1 {
		t.Errorf("%t, %v", tc.Spec.Paused, tc.Annotations)
	}
	forever := &v1alpha1.TidbCluster{}
	SetPause(forever, Pause{By: "ann@laptop", Since: noon})
	if got := forever.Annotations[AnnotationPause]; got != `{"by":"ann@laptop","since":"2026-03-01T12:00:00Z"}` {
		t.Error(got)
	}
}

package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestUneditedIsNotOutdated: a comparison without edits that is kept says nothing about another template or another
// record, also where the object is the same and has the same version.
func TestUneditedIsNotOutdated(t *testing.T) {
	live := &appsv1.StatefulSet{}
	live.ResourceVersion = "5"
	live.Spec.Template.Spec.Containers = []corev1.Container{{Name: "pd", Image: "pingcap/pd:v8.1.0"}}
	record := func(image string) {
		applied := live.Spec.DeepCopy()
		applied.Template.Spec.Containers[0].Image = image
		setLastApplied(&live.ObjectMeta, *applied)
	}
	check := func(what string, edits int) {
		t.Helper()
		for range 2 { // the second time from what is kept
			if got := edited(live); len(got) != edits {
				t.Errorf("%s: edits %v, want %d", what, got, edits)
			}
		}
	}
	record("pingcap/pd:v8.1.0")
	check("as applied", 0)
	live.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	check("with a default of the API server", 0)
	live.Spec.Template.Spec.Containers[0].Image = "pingcap/pd:v8.1.1"
	check("another image", 1)
	record("pingcap/pd:v8.1.1")
	check("applied", 0)
	record("pingcap/pd:v8.1.0")
	check("another record", 1)
	live.Spec.Template.Spec.Containers[0].Image = "pingcap/pd:v8.1.0"
	check("put back", 0)
	delete(live.Annotations, annLastApplied)
	live.Spec.Template.Spec.Containers[0].Image = "pingcap/pd:v8.1.1"
	check("without a record nothing is known", 0)
}

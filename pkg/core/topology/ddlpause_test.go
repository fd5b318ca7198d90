package topology

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDDLPause: only the annotation with "true" is the record of a pause, whatever the others say.
func TestDDLPause(t *testing.T) {
	at := time.Date(2026, 8, 7, 1, 2, 3, 0, time.UTC)
	for value, want := range map[string]DDLPause{"true": {Recorded: true, Since: at}, "false": {}, "": {}} {
		tc := valid()
		metav1.SetMetaDataAnnotation(&tc.ObjectMeta, annDDLPaused, value)
		metav1.SetMetaDataAnnotation(&tc.ObjectMeta, annDDLSince, at.Format(time.RFC3339))
		if got := New(tc).DDLPause; got != want {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

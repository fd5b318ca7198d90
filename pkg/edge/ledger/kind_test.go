package ledger

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAdvanced: the record of AdvancedStatefulSets is read, and a value of a later version is reported.
func TestAdvanced(t *testing.T) {
	for value, want := range map[string]struct {
		advanced bool
		gaps     int
	}{
		RecordOfSets:    {true, 0},
		"apps.other.io": {false, 1},
	} {
		cm := &corev1.ConfigMap{Data: map[string]string{SetsKey: value}}
		if got, gaps := Advanced(cm), Read(cm).Gaps; got != want.advanced || len(gaps) != want.gaps {
			t.Errorf("%q: %t, gaps %v", value, got, gaps)
		}
	}
	if Advanced(nil) || Advanced(&corev1.ConfigMap{}) {
		t.Error("there is no record")
	}
}

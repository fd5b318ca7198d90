package topology

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDDLPause: only the annotation with "true" is the record of a pause, whatever the others say.
func TestDDLPause(t *testing.T) {
	at := time.Date(2026, 8, 7, 1, 2, 3, 0, time.UTC)
	record := DDLPause{Recorded: true, Since: at, From: "v8.1.0", To: "v8.5.0"}
	for value, want := range map[string]DDLPause{"true": record, "false": {}, "": {}} {
		tc := valid()
		for key, value := range record.Annotations() {
			metav1.SetMetaDataAnnotation(&tc.ObjectMeta, key, value)
		}
		metav1.SetMetaDataAnnotation(&tc.ObjectMeta, annDDLPaused, value)
		if got := New(tc).DDLPause; got != want {
			t.Errorf("%q: %+v", value, got)
		}
	}
}

// TestDDLPauseAnnotations: the record has exactly the keys that are removed with it.
func TestDDLPauseAnnotations(t *testing.T) {
	if got := slices.Sorted(maps.Keys(DDLPause{}.Annotations())); !slices.Equal(got, slices.Sorted(slices.Values(DDLPauseAnnotations()))) {
		t.Errorf("%q", got)
	}
}

// TestPausesDDL: the pairs of releases for which tidb-operator v1.6.6 asks TiDB for a pause, and only upgrades of
// those.
func TestPausesDDL(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		want     bool
	}{
		{"v7.1.2", "v7.1.5", true}, {"v7.1.2", "v7.4.0", true}, {"v7.1.9", "v8.5.2", true}, {"v7.4.0", "v7.5.0", true}, {"v8.1.0", "v8.1.1", true},
		{"v8.5.5", "v9.0.0", true}, {"8.1.0", "v8.5.0", true}, {"v8.1.0-pre", "v8.5.0-20250101", true},
		// TiDB pauses by itself, or does not know of it.
		{"v7.1.0", "v7.1.1", false}, {"v7.1.0", "v7.3.0", false}, {"v7.1.1", "v7.2.0", false}, {"v7.2.0", "v7.3.0", false}, {"v7.1.1", "v7.1.2", false},
		{"v7.1.0", "v8.5.0", false}, {"v7.1.2", "v7.2.0", false}, {"v7.1.2", "v7.3.0", false}, {"v7.2.0", "v7.5.0", false}, {"v7.3.0", "v7.4.0", false},
		{"v6.5.0", "v8.5.0", false}, {"v5.4.3", "v6.5.0", false},
		// These are no upgrades, or not known to be.
		{"v8.5.0", "v8.5.0", false}, {"v8.5.0", "v8.5.0-20250101", false}, {"v8.5.0", "v8.1.0", false}, {"v7.5.0", "v7.1.4", false},
		{"nightly", "v8.5.0", false}, {"v8.1.0", "latest", false}, {"v8.1.0", "", false}, {"", "v8.1.0", false},
	} {
		if got := PausesDDL(tt.from, tt.to); got != tt.want {
			t.Errorf("from %q to %q: %t", tt.from, tt.to, got)
		}
	}
}

// TestDDLPauseDeclined: only "false" turns pauses off, and a value that is neither "true" nor "false" is refused.
func TestDDLPauseDeclined(t *testing.T) {
	for value, want := range map[string]struct{ pauses, fails bool }{"": {true, false}, "true": {true, false}, "false": {false, false}, "no": {true, true}} {
		tc := valid()
		if value != "" {
			metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationDDLPause, value)
		}
		c := New(tc)
		g, _ := c.Group(TiDB)
		if errs := Validate(c); g.PausesDDL != want.pauses || (len(errs) > 0) != want.fails {
			t.Errorf("%q: %t, %v", value, g.PausesDDL, errs)
		}
	}
}

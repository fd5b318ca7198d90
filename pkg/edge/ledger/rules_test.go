package ledger

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestRules(t *testing.T) {
	at := time.Date(2026, 7, 1, 14, 0, 5, 0, time.FixedZone("CEST", 7200))
	for value, want := range map[string]struct {
		at   time.Time
		gaps int
	}{
		EncodeRules(at, 7):     {at, 0},
		"2026-07-01T12:00:05Z": {at, 0}, // without the id of a PD cluster
		"yesterday":            {time.Time{}, 1},
	} {
		book := Read(&corev1.ConfigMap{Data: map[string]string{RulesKey: value}})
		if !book.RulesEnabled.Equal(want.at) || len(book.Gaps) != want.gaps {
			t.Errorf("%s: %v, %+v", value, book.RulesEnabled, book.Gaps)
		}
	}
	if value := EncodeRules(at, 7); value != "2026-07-01T12:00:05Z 7" {
		t.Errorf("written as %s", value)
	}
}

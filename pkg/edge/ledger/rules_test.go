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
		EncodeRules(at): {at, 0},
		"yesterday":     {time.Time{}, 1},
	} {
		book := Read(&corev1.ConfigMap{Data: map[string]string{RulesKey: value}})
		if !book.RulesEnabled.Equal(want.at) || len(book.Gaps) != want.gaps {
			t.Errorf("%s: %v, %+v", value, book.RulesEnabled, book.Gaps)
		}
	}
	if value := EncodeRules(at); value != "2026-07-01T12:00:05Z" {
		t.Errorf("written as %s", value)
	}
}

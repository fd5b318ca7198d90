package topology

import (
	"fmt"
	"testing"
	"time"
)

func TestMaintenance(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 700, time.FixedZone("", 3600))
	tc := valid()
	BeginMaintenance(tc, Maintenance{Node: "node-2", By: "bob@desk", Since: noon})
	BeginMaintenance(tc, Maintenance{Node: "node-1", By: "ann@desk", Since: noon, Evicting: []uint64{4, 7}})
	want := `{"node-1":{"by":"ann@desk","since":"2026-03-01T11:00:00Z","evicting":[4,7]},"node-2":{"by":"bob@desk","since":"2026-03-01T11:00:00Z"}}`
	if got := tc.Annotations[AnnotationMaintenance]; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(New(tc).Maintained); got != "[{node-1 ann@desk 2026-03-01 11:00:00 +0000 UTC [4 7]} {node-2 bob@desk 2026-03-01 11:00:00 +0000 UTC []}]" {
		t.Error(got)
	}
	EndMaintenance(tc, "node-1")
	EndMaintenance(tc, "node-3")
	if all := New(tc).Maintained; len(all) != 1 || all[0].Node != "node-2" {
		t.Errorf("%v", all)
	}
	EndMaintenance(tc, "node-2")
	if _, left := tc.Annotations[AnnotationMaintenance]; left {
		t.Error("an annotation without a node")
	}
	tc.Annotations = map[string]string{AnnotationMaintenance: "node-1"}
	if all := New(tc).Maintained; all != nil {
		t.Errorf("read from text: %v", all)
	}
}

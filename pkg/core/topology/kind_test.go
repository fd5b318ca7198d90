package topology

import (
	"slices"
	"testing"
)

func TestKinds(t *testing.T) {
	if got := Kinds(); !slices.Equal(got, []Kind{PD, TSO, Scheduling, TiKV, TiFlash, Pump, TiDB, TiProxy, TiCDC}) {
		t.Errorf("%v is not the order in which they depend on each other", got)
	}
	for _, tt := range []struct {
		name  string
		known bool
		title string
	}{
		{"pd", true, "PD"}, {"tikv", true, "TiKV"}, {"tidb", true, "TiDB"},
		{"TiKV", false, "TiKV"}, {"drainer", false, "drainer"}, {"", false, ""},
	} {
		if k, ok := ParseKind(tt.name); ok != tt.known || k.Title() != tt.title {
			t.Errorf("%q is %q (%s), known: %v", tt.name, k, k.Title(), ok)
		}
	}
}

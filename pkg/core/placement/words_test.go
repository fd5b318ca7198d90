package placement_test

import (
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/placement"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// TestConstraintWords: what a rule asks stores for is said as a person would write it.
func TestConstraintWords(t *testing.T) {
	for words, c := range map[string]struct {
		other, leaves string // the labels of the store that stays, and of the one that leaves
		constraints   []state.LabelConstraint
	}{
		"zone=c":                  {"zone=a", "zone=c", []state.LabelConstraint{in("zone", "c")}},
		"zone in (c,d)":           {"zone=a", "zone=c", []state.LabelConstraint{in("zone", "c", "d")}},
		"zone!=a":                 {"zone=a", "zone=c", []state.LabelConstraint{op("zone", "notIn", "a")}},
		"zone not in (a,b)":       {"zone=a", "zone=c", []state.LabelConstraint{op("zone", "notIn", "a", "b")}},
		"a label disk":            {"zone=a", "disk=ssd", []state.LabelConstraint{op("disk", "exists")}},
		"no label disk":           {"disk=ssd", "zone=c", []state.LabelConstraint{op("disk", "notExists")}},
		"zone=c and a label disk": {"zone=c", "zone=c,disk=ssd", []state.LabelConstraint{in("zone", "c"), op("disk", "exists")}},
	} {
		stay, leaves := stores(c.other, c.leaves)
		s, _ := placement.Short([][]state.PlacementRule{{rule("r", 1, c.constraints...)}}, stay, leaves)
		want := "placement rule pd/r asks for 1 copy of each region on stores with " + words + ", and there is no other such store"
		if got := s.String(); got != want {
			t.Errorf("\n got %q\nwant %q", got, want)
		}
	}
}

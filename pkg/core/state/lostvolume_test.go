package state

import "testing"

// TestLostVolume: a text says which volume is lost, and why.
func TestLostVolume(t *testing.T) {
	for want, v := range map[string]LostVolume{
		"volume pv-x does not exist":                                       {Name: "pv-x"},
		"volume pv-x can be used only on node n3, which does not exist":    {Name: "pv-x", Nodes: []string{"n3"}},
		"volume pv-x can be used only on nodes n3, n4, which do not exist": {Name: "pv-x", Nodes: []string{"n3", "n4"}},
	} {
		if got := v.String(); got != want || !(Member{LostVolume: v}).LacksVolume() {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if (Member{}).LacksVolume() {
		t.Error("a member of which nothing is known")
	}
}

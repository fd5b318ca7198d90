package topology

import (
	"slices"
	"testing"
)

func TestSlots(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "[]": nil, "[1]": {1}, "[3, 1, 3]": {1, 3}} {
		if got, ok := ParseSlots(text); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"1", `["1"]`, "[1", "[4294967296]", "1,2"} {
		if got, ok := ParseSlots(text); ok || got != nil {
			t.Errorf("%q: %v, %t", text, got, ok)
		}
	}
	tc := valid()
	AskSlots(tc, TiKV, []int{1, 4})
	if got := tc.Annotations["tikv.tidb.pingcap.com/delete-slots"]; got != "[1,4]" {
		t.Errorf("annotation %q", got)
	}
	if g, _ := New(tc).Group(TiKV); !slices.Equal(g.Slots, []int{1, 4}) {
		t.Errorf("slots %v", g.Slots)
	}
	AskSlots(tc, TiKV, nil)
	if _, has := tc.Annotations["tikv.tidb.pingcap.com/delete-slots"]; has {
		t.Error("an annotation without slots stays")
	}
	AskSlots(tc, Pump, []int{0})
	if got := SlotsAsked(tc, Pump); got != nil {
		t.Errorf("Pump has slots %v", got)
	}
}

// TestNumbered: slots of a TidbCluster are left out where its StatefulSets cannot have any.
func TestNumbered(t *testing.T) {
	tc := valid()
	AskSlots(tc, TiKV, []int{1})
	c := New(tc)
	start := func(k Kind) int { return len(k) }
	for _, advanced := range []bool{false, true} {
		got := c.Numbered(advanced, start)
		g, _ := got.Group(TiKV)
		if got.Advanced != advanced || g.Start != 4 || (len(g.Slots) > 0) != advanced {
			t.Errorf("advanced %t: %+v", advanced, g)
		}
	}
	if g, _ := c.Group(TiKV); g.Start != 0 || len(g.Slots) != 1 {
		t.Errorf("the argument has changed: %+v", g)
	}
}

func TestOrdinalsChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		is                     Ordinals
		added, removed, wanted []int
		all, slots             []int
	}{
		"one at the end":                                   {is: Ordinals{Count: 2}, added: []int{2}, all: []int{0, 1, 2}},
		"the last one leaves":                              {is: Ordinals{Count: 2}, removed: []int{1}, all: []int{0}},
		"of a StatefulSet from 2 on":                       {is: Ordinals{Start: 2, Count: 2}, added: []int{4}, all: []int{2, 3, 4}},
		"the last one of all":                              {is: Ordinals{Start: 2, Count: 1}, removed: []int{2}},
		"a slot":                                           {is: Ordinals{Count: 3}, removed: []int{1}, wanted: []int{1}, all: []int{0, 2}, slots: []int{1}},
		"a slot that is not there yet":                     {is: Ordinals{Count: 3}, added: []int{3}, wanted: []int{1}, all: []int{0, 1, 2, 3}},
		"a slot that comes back":                           {is: Ordinals{Count: 3, Slots: []int{1}}, added: []int{1}, all: []int{0, 1, 2, 3}},
		"one of two slots comes back":                      {is: Ordinals{Count: 2, Slots: []int{0, 2}}, added: []int{2}, wanted: []int{0}, all: []int{1, 2, 3}, slots: []int{0}},
		"a wanted slot above all":                          {is: Ordinals{Count: 2}, added: []int{2}, wanted: []int{7}, all: []int{0, 1, 2}, slots: []int{7}},
		"a slot above all that is not wanted":              {is: Ordinals{Count: 2, Slots: []int{7}}, added: []int{2}, all: []int{0, 1, 2}},
		"a slot just above all, with the last one leaving": {is: Ordinals{Count: 3, Slots: []int{1}}, removed: []int{3}, wanted: []int{1}, all: []int{0, 2}, slots: []int{1}},
		"a slot that is the last one":                      {is: Ordinals{Count: 3}, removed: []int{2}, wanted: []int{2}, all: []int{0, 1}, slots: []int{2}},
	} {
		got := tt.is.Changed(tt.added, tt.removed, tt.wanted)
		if !slices.Equal(got.All(), tt.all) || !slices.Equal(got.Slots, tt.slots) || got.Start != tt.is.Start || got.Count != len(tt.all) {
			t.Errorf("%s: %v, slots %v, want %v, slots %v", name, got.All(), got.Slots, tt.all, tt.slots)
		}
	}
}

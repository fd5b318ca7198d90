package topology

import (
	"slices"
	"testing"
)

func TestOrdinals(t *testing.T) {
	for name, tt := range map[string]struct {
		is   Ordinals
		want []int
		end  int
	}{
		"of a StatefulSet":            {Ordinals{Count: 3}, []int{0, 1, 2}, 3},
		"none":                        {Ordinals{}, nil, 0},
		"none from 2 on":              {Ordinals{Start: 2}, nil, 2},
		"from 2 on":                   {Ordinals{Start: 2, Count: 2}, []int{2, 3}, 4},
		"a slot":                      {Ordinals{Count: 3, Slots: []int{1}}, []int{0, 2, 3}, 4},
		"slots at the beginning":      {Ordinals{Count: 3, Slots: []int{0, 1}}, []int{2, 3, 4}, 5},
		"a slot above all":            {Ordinals{Count: 3, Slots: []int{5}}, []int{0, 1, 2}, 3},
		"a slot just above":           {Ordinals{Count: 3, Slots: []int{3}}, []int{0, 1, 2}, 3},
		"slots, of which none is met": {Ordinals{Slots: []int{0}}, nil, 0},
	} {
		if got := tt.is.All(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
		if got := tt.is.End(); got != tt.end {
			t.Errorf("%s: end: got %d, want %d", name, got, tt.end)
		}
		for n := range 7 {
			if got, want := tt.is.Has(n), slices.Contains(tt.want, n); got != want {
				t.Errorf("%s: has %d: got %t, want %t", name, n, got, want)
			}
		}
	}
}

func TestOrdinalsExtended(t *testing.T) {
	for name, tt := range map[string]struct {
		is   Ordinals
		to   int
		want []int
	}{
		"by two":       {Ordinals{Count: 1}, 2, []int{0, 1, 2}},
		"not at all":   {Ordinals{Count: 3}, 1, []int{0, 1, 2}},
		"over a slot":  {Ordinals{Count: 1, Slots: []int{1}}, 2, []int{0, 2}},
		"from another": {Ordinals{Start: 3}, 4, []int{3, 4}},
	} {
		if got := tt.is.Extended(tt.to).All(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	if a, b := (Ordinals{Count: 2}), (Ordinals{Count: 3, Slots: []int{1}}); a.Within(b) || !a.Within(Ordinals{Count: 2}) || !b.Within(Ordinals{Count: 4}) || b.Within(a) {
		t.Error("Within is wrong")
	}
	if a, b := (Ordinals{Count: 2}), (Ordinals{Count: 2, Slots: []int{4}}); !a.Same(b) {
		t.Error("a slot above all ordinals makes another StatefulSet")
	}
}

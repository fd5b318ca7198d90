package state

import "testing"

// TestLowSpace: PD's rule, with its default and with another ratio.
func TestLowSpace(t *testing.T) {
	const gi = 1 << 30
	for name, tc := range map[string]struct {
		ratio float64
		store Store
		want  bool
	}{
		"unknown":                   {store: Store{Regions: 100}},
		"a fifth is free":           {store: Store{Capacity: 100 * gi, Available: 20 * gi, Regions: 100}},
		"less":                      {store: Store{Capacity: 100 * gi, Available: 20*gi - 1, Regions: 100}, want: true},
		"nothing is free":           {store: Store{Capacity: 100 * gi, Regions: 100}, want: true},
		"few regions":               {store: Store{Capacity: 100 * gi, Available: 8*gi + 1, Regions: 29}},
		"not so few":                {store: Store{Capacity: 100 * gi, Available: 8*gi + 1, Regions: 30}, want: true},
		"few regions, little space": {store: Store{Capacity: 100 * gi, Available: 8 * gi, Regions: 29}, want: true},
		"another ratio":             {ratio: 0.9, store: Store{Capacity: 100 * gi, Available: 11 * gi, Regions: 100}},
		"another ratio, less":       {ratio: 0.9, store: Store{Capacity: 100 * gi, Available: 9 * gi, Regions: 100}, want: true},
	} {
		if got := (PD{Scheduling: Scheduling{LowSpaceRatio: tc.ratio}}).LowSpace(tc.store); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestStoreOfMember: all that PD's rules ask of a store.
func TestStoreOfMember(t *testing.T) {
	m := Member{StoreLabels: map[string]string{"zone": "a"}, Database: Database{ID: 4, State: StoreUp, Capacity: 3, Available: 2, Regions: 1}}
	got := m.Store()
	if got.ID != 4 || got.State != StoreUp || got.Labels["zone"] != "a" || got.Capacity != 3 || got.Available != 2 || got.Regions != 1 {
		t.Errorf("got %+v", got)
	}
}

package topology

import "testing"

func TestIsDowngrade(t *testing.T) {
	for _, tt := range []struct {
		from, to        string
		downgrade, fail bool
	}{
		{from: "v8.1.0", to: "v8.1.1"},
		{from: "v8.1.0", to: "v8.1.0"},
		{from: "v8.1.0", to: "v8.0.9", downgrade: true},
		{from: "v8.9.0", to: "v8.10.0"},
		{from: "v8.10.0", to: "v8.9.0", downgrade: true},
		{from: "8.1.0", to: "v7.5.1", downgrade: true},
		{from: "v8.1.0-20240101", to: "v8.1.0"},
		{from: "v8.1.0", to: "v8.1.0-20240101"},
		{from: "v8.1.0-20240101", to: "v8.0.0-20250101", downgrade: true},
		{from: "v9.0.0-beta.1", to: "v8.5.0", downgrade: true},
		{from: "nightly", to: "v8.1.0", fail: true},
		{from: "v8.1.0", to: "latest", fail: true},
		{from: "v8.1.0", to: "", fail: true},
		{from: "v8.1.0", to: "20240101", fail: true},
	} {
		got, err := IsDowngrade(tt.from, tt.to)
		if got != tt.downgrade || (err != nil) != tt.fail {
			t.Errorf("from %q to %q: %t, %v", tt.from, tt.to, got, err)
		}
	}
}

func TestVersion(t *testing.T) {
	v, err := ParseVersion("v8.1.0-20240101")
	if err != nil || v.String() != "v8.1.0" {
		t.Errorf("%s, %v", v, err)
	}
}

package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

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

func TestMajorsApart(t *testing.T) {
	for versions, want := range map[[2]string]int{
		{"v6.5.0", "v8.1.0"}: 2, {"v8.1.0", "v6.5.0"}: -2, {"v7.5.1", "v7.1.0"}: 0, {"nightly", "v8.1.0"}: 0, {"v6.5.0", "latest"}: 0,
	} {
		if got := MajorsApart(versions[0], versions[1]); got != want {
			t.Errorf("%v: %d", versions, got)
		}
	}
}

func TestDowngrades(t *testing.T) {
	old := "v7.5.0"
	for name, tt := range map[string]struct {
		now, next string
		edit      func(*v1alpha1.TidbCluster)
		want      []string
	}{
		"all": {"v8.1.0", "v8.0.0", func(*v1alpha1.TidbCluster) {}, []string{
			"spec.version PD v8.1.0 v8.0.0", "spec.version TiKV v8.1.0 v8.0.0", "spec.version TiDB v8.1.0 v8.0.0",
		}},
		"one component":         {"v8.1.0", "v8.1.0", func(tc *v1alpha1.TidbCluster) { tc.Spec.TiKV.Version = &old }, []string{"spec.tikv.version TiKV v8.1.0 v7.5.0"}},
		"to a newer one":        {"v8.1.0", "v8.1.1", func(*v1alpha1.TidbCluster) {}, nil},
		"from one that is none": {"nightly", "v8.1.0", func(*v1alpha1.TidbCluster) {}, nil},
		"components that go":    {"v8.1.0", "v8.0.0", func(tc *v1alpha1.TidbCluster) { tc.Spec.PD, tc.Spec.TiDB = nil, nil }, []string{"spec.version TiKV v8.1.0 v8.0.0"}},
	} {
		now, next := valid(), valid()
		now.Spec.Version, next.Spec.Version = tt.now, tt.next
		tt.edit(next)
		var got []string
		for _, d := range Downgrades(before(now), New(next)) {
			got = append(got, strings.Join([]string{d.Field.String(), d.Kind.Title(), d.From, d.To}, " "))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
	if got := Downgrades(nil, New(valid())); got != nil {
		t.Errorf("of a new cluster: %v", got)
	}
}

package topology

import (
	"reflect"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
)

// TestConfiguredText: a setting is added, replaced or removed, and the others stay.
func TestConfiguredText(t *testing.T) {
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{TiKV: &v1alpha1.TiKVSpec{Config: v1alpha1.NewTiKVConfig()}, TiDB: &v1alpha1.TiDBSpec{}}}
	tc.Spec.TiKV.Config.Set("log.level", "info")
	tc.Spec.TiKV.Config.Set("server.grpc-concurrency", int64(4))
	for name, tt := range map[string]struct {
		kind     Kind
		settings map[string]any
		want     string
		fails    bool
	}{
		"replaced":        {TiKV, map[string]any{"log.level": "warn"}, "[log]\n  level = \"warn\"\n\n[server]\n  grpc-concurrency = 4\n", false},
		"removed":         {TiKV, map[string]any{"server.grpc-concurrency": nil, "server": nil}, "[log]\n  level = \"info\"\n", false},
		"new table":       {TiDB, map[string]any{"log.level": "warn"}, "[log]\n  level = \"warn\"\n", false},
		"a table's place": {TiKV, map[string]any{"log": "warn"}, "", true},
		"a value's place": {TiKV, map[string]any{"log.level.x": "warn"}, "", true},
	} {
		got, err := Configured(tc, tt.kind, tt.settings)
		if (err != nil) != tt.fails || got != tt.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := tc.Spec.TiKV.Config.Get("log.level").MustString(); got != "info" {
		t.Errorf("the TidbCluster itself has changed: %s", got)
	}
}

func TestSettings(t *testing.T) {
	tc := &v1alpha1.TidbCluster{Spec: v1alpha1.TidbClusterSpec{
		TiKV: &v1alpha1.TiKVSpec{Config: v1alpha1.NewTiKVConfig()}, TiDB: &v1alpha1.TiDBSpec{}, TiFlash: &v1alpha1.TiFlashSpec{},
	}}
	tc.Spec.TiKV.Config.Set("log.level", "info")
	for k, want := range map[Kind]map[string]any{TiKV: {"log.level": "info"}, TiDB: {}, TiFlash: nil, PD: nil} {
		if got, ok := Settings(tc, k); ok != (want != nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %t", k, got, ok)
		}
	}
}

func TestSettingOf(t *testing.T) {
	for text, want := range map[string]any{
		"4": int64(4), "1.5": 1.5, "true": true, `"4"`: "4", "4GiB": "4GiB", "10s": "10s", "warn": "warn",
		`["zone", "host"]`: []any{"zone", "host"}, "": "", "1\nb = 2": "1\nb = 2",
	} {
		if got := SettingOf(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v", text, got)
		}
	}
}

// TestSameSetting: forms of the same value are equal, and values of another meaning are not.
func TestSameSetting(t *testing.T) {
	for _, c := range []struct {
		spec, running any
		same          bool
	}{
		{int64(4), 4.0, true},
		{int64(4), 5.0, false},
		{"1GB", "1GiB", true},
		{"1024MB", "1GiB", true},
		{"1GB", "2GiB", false},
		{"10m", "10m0s", true},
		{"10m", "10s", false},
		{true, "true", true},
		{false, true, false},
		{[]any{"zone", "host"}, "zone,host", true},
		{[]any{}, "", true},
		{"", nil, true},
		{"info", "warn", false},
		{"64KB", "64KiB", true},
		{"1m", 60.0, false},
		{int64(60), "1m0s", false},
		{int64(0), "0s", true},
		{"0", "0s", true},
		{int64(1024), "1KiB", true},
		{"4", 4.0, true},
		{"nan", "nan", true},
		{"inf", "+Inf", false},
		{[]any{"1m"}, []any{"1m0s"}, true},
	} {
		if got := SameSetting(c.spec, c.running); got != c.same {
			t.Errorf("%#v and %#v: %t", c.spec, c.running, got)
		}
	}
}

func TestMismatch(t *testing.T) {
	running := map[string]any{"n": 4.0, "on": true, "text": "10s", "list": []any{}, "none": nil}
	for _, c := range []struct {
		key   string
		value any
		says  string
	}{
		{"n", int64(5), ""},
		{"n", "5GiB", "n is a number (4), and not text"},
		{"on", "yes", "on is true or false (true), and not text"},
		{"text", int64(5), ""},
		{"text", "5s", ""},
		{"list", "a", "list is a list ([]), and not text"},
		{"none", int64(5), ""},
		{"other", int64(5), "other is no setting that the members have"},
	} {
		if got := Mismatch(c.key, c.value, running); got != c.says {
			t.Errorf("%s=%v: %q", c.key, c.value, got)
		}
	}
}

func TestKeeps(t *testing.T) {
	for key, want := range map[string]bool{"schedule.leader-schedule-limit": true, "replication.max-replicas": true, "log.level": false, "schedules.x": false} {
		if PD.Keeps(key) != want || TiKV.Keeps(key) {
			t.Errorf("%s: %t", key, !want)
		}
	}
}

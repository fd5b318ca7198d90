package build

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestADemoNeedsNoStandIns(t *testing.T) {
	parts, others, err := Chosen(Demo)
	if err != nil {
		t.Fatal(err)
	}
	has := func(parts []Part, name string) bool {
		return slices.ContainsFunc(parts, func(p Part) bool { return p.Name == name })
	}
	for _, name := range []string{Kubernetes, Kubectl, Etcd, CoreDNS, Pause, Store, Versioned(PD, NewVersion), Versioned(TiDB, OldVersion)} {
		if !has(parts, name) {
			t.Errorf("%s is left out", name)
		}
	}
	for _, name := range []string{Pump, TiCDC, TiProxy, S3, Versioned(BR, OldVersion), Versioned(BR, NewVersion)} {
		if has(parts, name) || !has(others, name) {
			t.Errorf("%s is not left out", name)
		}
	}
}

func TestAnnouncement(t *testing.T) {
	if got := announcement(nil, []Part{{Name: Pump}}); got != "" {
		t.Errorf("with nothing to compile: %q", got)
	}
	got := announcement([]Part{{Name: Pause}, {Name: Etcd}}, []Part{{Name: Pump}})
	for _, says := range []string{"compiling pause, etcd, which takes about 1 min", "not compiling pump"} {
		if !strings.Contains(got, says) {
			t.Errorf("does not say %q: %q", says, got)
		}
	}
}

func TestOptionalPartsAreTakenOnlyFromTheCache(t *testing.T) {
	builder, progress := builder(t, "package main\n\nfunc main() {}\n")
	other := Part{Name: "other", Module: "small", Package: ".", LDFlags: "-s"}
	set, err := builder.All(t.Context(), []Part{small}, other)
	if err != nil || set["small"] == "" || set["other"] != "" {
		t.Fatalf("got %v, %v:\n%s", set, err, progress)
	}
	key, err := Key(other, filepath.Join(builder.Sources, "small"), version(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(builder.Cache, "other-"+key), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if set, err = builder.All(t.Context(), []Part{small}, other); err != nil || set["other"] == "" {
		t.Errorf("got %v, %v", set, err)
	}
}

func version(t *testing.T) string {
	t.Helper()
	version, err := goVersion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return version
}

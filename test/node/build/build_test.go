package build

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func builder(t *testing.T, source string) (Builder, *bytes.Buffer) {
	t.Helper()
	sources := t.TempDir()
	write(t, sources, "small/go.mod", "module small\n\ngo 1.26\n")
	write(t, sources, "small/main.go", source)
	progress := &bytes.Buffer{}
	return Builder{Sources: sources, Cache: filepath.Join(t.TempDir(), "cache"), Progress: progress}, progress
}

var small = Part{Name: "small", Module: "small", Package: "."}

func TestAllBuildsOnceAndKeepsTheResult(t *testing.T) {
	builder, progress := builder(t, "package main\n\nfunc main() {}\n")
	for range 2 {
		set, err := builder.All(t.Context(), []Part{small})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(set["small"]); err != nil || info.Mode()&0o100 == 0 {
			t.Fatalf("result %v: %v", info, err)
		}
	}
	if built := strings.Count(progress.String(), "built small"); built != 1 {
		t.Errorf("built %d times:\n%s", built, progress)
	}
}

func TestAllLeavesNothingBehindWhenABuildFails(t *testing.T) {
	builder, _ := builder(t, "package main\n\nfunc main() { undefined() }\n")
	_, err := builder.All(t.Context(), []Part{small})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") || !strings.Contains(err.Error(), "part small") {
		t.Errorf("the error does not say what is wrong: %v", err)
	}
	entries, err := os.ReadDir(builder.Cache)
	if err != nil || len(entries) != 0 {
		t.Errorf("cache holds %v: %v", entries, err)
	}
}

func TestCorrectionReplacesTextExactlyOnce(t *testing.T) {
	library := t.TempDir()
	write(t, library, "a.go", "one two two")
	correction := Correction{File: "a.go", Old: "one", New: "three"}
	if err := correction.apply("", library); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(filepath.Join(library, "a.go")); string(content) != "three two two" {
		t.Errorf("corrected to %q", content)
	}
	for _, old := range []string{"two", "absent"} {
		if err := (Correction{File: "a.go", Old: old, New: "x"}).apply("", library); err == nil {
			t.Errorf("correcting %q did not fail", old)
		}
	}
}

func TestCorrectionByFile(t *testing.T) {
	sources, library := t.TempDir(), t.TempDir()
	write(t, sources, "_library/b.go", "new")
	write(t, library, "b.go", "old")
	if err := (Correction{File: "b.go", By: "_library/b.go"}).apply(sources, library); err != nil {
		t.Fatal(err)
	}
	if content, _ := os.ReadFile(filepath.Join(library, "b.go")); string(content) != "new" {
		t.Errorf("corrected to %q", content)
	}
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"a\nb\nc\n", "b\nc"}, {"a", "a"}, {"", ""},
	} {
		if got := lastLines(test.text, 2); got != test.want {
			t.Errorf("lastLines(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

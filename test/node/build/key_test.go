package build

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, folder, name, content string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keyOf(t *testing.T, part Part, folder, version string) string {
	t.Helper()
	key, err := Key(part, folder, version)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeyChangesWithEverythingThatGoesIn(t *testing.T) {
	part := Part{Name: "store", Module: "store", Package: ".", LDFlags: "-s"}
	folder := t.TempDir()
	write(t, folder, "go.mod", "module a")
	write(t, folder, "main.go", "package main")
	first := keyOf(t, part, folder, "go1")
	seen := map[string]string{first: "the first"}
	check := func(what string, part Part, version string) {
		t.Helper()
		key := keyOf(t, part, folder, version)
		if same, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", what, same)
		}
		seen[key] = what
	}
	check("another Go version", part, "go2")
	other := part
	other.LDFlags = "-w"
	check("other linker flags", other, "go1")
	other = part
	other.Tags = "tag"
	check("other tags", other, "go1")
	other = part
	other.Corrections = []Correction{{File: "a", Old: "b", New: "c"}}
	check("a correction", other, "go1")
	write(t, folder, "main.go", "package main // changed")
	check("a changed source", part, "go1")
	write(t, folder, "_library/more.go", "package more")
	check("a source in a folder", part, "go1")
	write(t, folder, "go.sum", "sum")
	check("a go.sum", part, "go1")
}

func TestKeyIgnoresTestsAndOtherFiles(t *testing.T) {
	part := Part{Name: "store", Package: "."}
	folder := t.TempDir()
	write(t, folder, "main.go", "package main")
	first := keyOf(t, part, folder, "go1")
	write(t, folder, "main_test.go", "package main")
	write(t, folder, "notes.txt", "notes")
	if key := keyOf(t, part, folder, "go1"); key != first {
		t.Errorf("key is %s after a test was added, was %s", key, first)
	}
}

func TestKeyOfMissingFolder(t *testing.T) {
	if _, err := Key(Part{Name: "x"}, filepath.Join(t.TempDir(), "none"), "go1"); err == nil {
		t.Error("a part without sources has a key")
	}
}

func TestPartsHaveDistinctNamesAndSources(t *testing.T) {
	names := map[string]bool{}
	for _, part := range Parts() {
		if names[part.Name] {
			t.Errorf("two parts are called %s", part.Name)
		}
		names[part.Name] = true
		if _, err := os.Stat(filepath.Join("..", "parts", part.Module, "go.mod")); err != nil {
			t.Errorf("part %s: %v", part.Name, err)
		}
		for _, correction := range part.Corrections {
			if correction.By == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "parts", part.Module, correction.By)); err != nil {
				t.Errorf("part %s: %v", part.Name, err)
			}
		}
	}
}

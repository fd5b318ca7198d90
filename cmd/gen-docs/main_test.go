package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate: the manual in the repository is the one of these commands.
func TestUpToDate(t *testing.T) {
	const dir = "../../docs/reference"
	want := pages()
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(have) != text {
			t.Errorf("%s is not up to date: run make generate", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if want[filepath.Base(file)] == "" {
			t.Errorf("%s is of no command: run make generate", file)
		}
	}
}

package plantest

import (
	"os"
	"path/filepath"
	"testing"
)

// Golden compares a text with a file in testdata; with -update it writes the file.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (%v); run with -update and review\ngot:\n%s\nwant:\n%s", file, err, got, want)
	}
}

package debian

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMissingPackages(t *testing.T) {
	present := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(present, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	all := []requirement{
		{"here", []string{"/nonexistent/a", present}},
		{"absent", []string{"/nonexistent/a", "/nonexistent/b"}},
	}
	if got := missingPackages(all); !slices.Equal(got, []string{"absent"}) {
		t.Errorf("missing are %v", got)
	}
}

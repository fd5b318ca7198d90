//go:build linux

package loopback

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/test/node/build"
)

// programs compiles what the test starts, or finds what was compiled for the node.
func programs(t *testing.T) build.Set {
	t.Helper()
	cache, err := build.CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{build.Store, build.S3}
	for _, component := range []string{build.PD, build.TiDB, build.BR} {
		needed = append(needed, build.Versioned(component, build.OldVersion))
	}
	parts := slices.DeleteFunc(build.Parts(), func(p build.Part) bool { return !slices.Contains(needed, p.Name) })
	set, err := build.Builder{Sources: filepath.Join("..", "parts"), Cache: cache, Progress: os.Stderr}.All(t.Context(), parts)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

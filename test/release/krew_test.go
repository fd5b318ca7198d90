package release

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tools is the folder with krew and its command that validates manifests. They are
// built from modules: krew's package for that is internal.
var tools = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(folder, "tools")
	out, err := exec.Command("go", "build", "-o", dir+"/", "sigs.k8s.io/krew/cmd/krew", "sigs.k8s.io/krew/cmd/validate-krew-manifest").CombinedOutput()
	if err != nil {
		return "", &failure{err, out}
	}
	return dir, nil
})

type failure struct {
	err error
	out []byte
}

func (f *failure) Error() string { return f.err.Error() + "\n" + string(f.out) }

func tool(t *testing.T, name string) string {
	t.Helper()
	dir, err := tools()
	if err != nil {
		t.Fatal("build krew:", err)
	}
	return filepath.Join(dir, name)
}

// validate is krew's own validation of a manifest, the one that krew-index runs.
func validate(t *testing.T, manifest string) error {
	t.Helper()
	out, err := exec.Command(tool(t, "validate-krew-manifest"), "-skip-install", "-manifest", manifest).CombinedOutput()
	if err != nil {
		return &failure{err, out}
	}
	return nil
}

func TestManifestInTree(t *testing.T) {
	if err := validate(t, filepath.Join("..", "..", "krew", "tidb.yaml")); err != nil {
		t.Error(err)
	}
}

// TestValidation: the validation can fail.
func TestValidation(t *testing.T) {
	text := read(t, filepath.Join("..", "..", "krew", "tidb.yaml"))
	for name, change := range map[string][2]string{
		"no sum":              {`sha256: "`, `sha256: "x`},
		"a platform twice":    {"os: darwin", "os: linux"},
		"no version":          {"version: v", "version: x"},
		"another plugin":      {"name: tidb", "name: other"},
		"no short text":       {"shortDescription: Drive", "other: Drive"},
		"an unknown platform": {"os: windows", "os: plan9"},
	} {
		file := filepath.Join(t.TempDir(), "tidb.yaml")
		changed := strings.ReplaceAll(text, change[0], change[1])
		if changed == text {
			t.Fatalf("%s: %q is not in the manifest", name, change[0])
		}
		write(t, file, changed)
		if err := validate(t, file); err == nil {
			t.Errorf("%s: the manifest is valid", name)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllReasonsAtOnce: a manifest with several mistakes is refused with all of them, and nothing
// is written: the only write is a dry run.
func TestAllReasonsAtOnce(t *testing.T) {
	bad := tidbcluster("basic")
	spec := bad["spec"].(map[string]any)
	delete(spec, "tikv")
	spec["pd"].(map[string]any)["replicas"] = -1
	spec["recoveryMode"] = true
	s := serve(t, map[string]any{
		"GET " + tidbclusters + "/basic":   tidbcluster("basic"),
		"PATCH " + tidbclusters + "/basic": bad,
	})
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest := "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec: {version: v8.1.0, pd: {replicas: 3}}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "apply", "-f", file)
	if r.code != 3 {
		t.Errorf("exit code %d", r.code)
	}
	for _, says := range []string{
		"nothing was changed; there are 3 reasons:\n",
		"\n  spec.pd.replicas: Invalid value: -1: must not be negative\n",
		"\n  spec.recoveryMode: Forbidden: not supported yet: ",
		"\n  spec.tikv: Forbidden: cannot be taken out: ",
	} {
		if !strings.Contains(r.err, says) {
			t.Errorf("%q is not in\n%s", says, r.err)
		}
	}
	writes := 0
	for _, asked := range s.asked() {
		if !strings.HasPrefix(asked, "GET ") {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("asked for more than one dry run: %q", s.asked())
	}
}

// TestTypo: a misspelt field is an error with its line, before any request.
func TestTypo(t *testing.T) {
	s := serve(t, nil)
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest := "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec:\n  tikv: {replica: 3}\n  pd: {replicsa: 3}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.call(t, "apply", "-f", file)
	if r.code != 2 || !strings.Contains(r.err, "line 5: spec.tikv.replica: unknown field") || !strings.Contains(r.err, "line 6: spec.pd.replicsa: unknown field") {
		t.Errorf("%+v", r)
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDefinitionMissing runs first, on a node where no test has run "init".
func TestDefinitionMissing(t *testing.T) {
	if shared.knowsTidbClusters(t) {
		t.Skip("SKIPPED: TidbClusters are defined already")
	}
	wantError(t, 3, "kubectl tidb init", "list")
	wantError(t, 3, "kubectl tidb init", "create", "basic", "--version", from)
}

// badInputs need no cluster that runs.
var badInputs = []struct {
	name string
	code int
	says string
	args []string
}{
	{"unknown verb", 2, "unknown command", []string{"upgarde", "basic"}},
	{"unknown flag", 2, "unknown flag", []string{"sync", "basic", "--fast"}},
	{"no arguments", 2, "requires", []string{"scale"}},
	{"no version", 2, "accepts 2 arg", []string{"upgrade", "basic"}},
	{"unknown output", 2, "json", []string{"sync", "basic", "-o", "yaml"}},
	{"unknown cluster", 2, "no TidbCluster", []string{"sync", "nothing"}},
	{"unknown cluster, near match", 2, "basic", []string{"sync", "basik"}},
	{"unknown component", 2, "no component", []string{"scale", "basic", "tikvv=4"}},
	{"negative replicas", 2, "zero or more", []string{"scale", "basic", "tikv=-1"}},
	{"no number", 2, "number", []string{"scale", "basic", "tikv=many"}},
	{"twice", 2, "twice", []string{"scale", "basic", "tikv=4", "tikv=5"}},
	{"fewer stores than replicas of data", 3, "max-replicas", []string{"scale", "basic", "tikv=2"}},
	{"no PD", 3, "pd", []string{"scale", "basic", "pd=0"}},
	{"not a version", 2, "not a release", []string{"upgrade", "basic", "newest"}},
	{"half a version", 2, "did you mean v8.1.0?", []string{"upgrade", "basic", "v8.1"}},
	{"downgrade", 3, "lower", []string{"upgrade", "basic", "v8.0.0"}},
	{"exists", 3, "exists already", []string{"create", "basic", "--version", from}},
	{"bad storage", 2, "--storage", []string{"create", "other", "--version", from, "--storage", "plenty"}},
	{"no file", 2, "no such file", []string{"apply", "-f", "nothing.yaml"}},
	{"unreachable API server", 1, "", []string{"sync", "basic", "--server", "https://127.0.0.1:1"}},
	{"forbidden", 9, "forbidden", []string{"sync", "basic", "--as", "nobody"}},
	{"nobody to ask", 3, "--yes", []string{"delete", "basic"}},
}

// manifests that must not be applied.
var badManifests = []struct{ name, text, says string }{
	{"no YAML", "{", ""},
	{"unknown field", manifest("  pd: {replicaz: 3}"), "replicaz"},
	{"wrong type", manifest("  pd: {replicas: three}"), "replicas"},
	{"other kind", "apiVersion: v1\nkind: Pod\nmetadata: {name: basic}\n", "TidbCluster"},
	{"nothing in it", "", ""},
}

func manifest(spec string) string {
	return "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec:\n  version: " + from + "\n" + spec + "\n"
}

// testBadInput wants an error in words, the right exit code, and nothing changed.
func testBadInput(t *testing.T) {
	before := intents(t)
	for _, c := range badInputs {
		t.Run(c.name, func(t *testing.T) { wantError(t, c.code, c.says, c.args...) })
	}
	for _, c := range badManifests {
		t.Run("manifest: "+c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "basic.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			wantError(t, 2, c.says, "apply", "-f", file)
		})
	}
	t.Run("no kubeconfig", func(t *testing.T) {
		p := shared.plugin
		p.Kubeconfig = filepath.Join(t.TempDir(), "none")
		if r := p.Run(t.Context(), nil, "list"); r.Code != 1 || !strings.HasPrefix(r.Stderr, "error: ") {
			t.Errorf("exit code %d, stderr %q", r.Code, r.Stderr)
		}
	})
	if after := intents(t); after != before {
		t.Errorf("bad input changed what is wanted: it was %s and is %s", before, after)
	}
}

// testPaused: a paused cluster is left alone, and that is said.
func testPaused(t *testing.T) {
	pause(t, true)
	defer pause(t, false)
	before := intents(t)
	wantError(t, 6, "paused", "scale", cluster, "tikv=4")
	wantError(t, 6, "paused", "sync", cluster)
	if after := intents(t); after != before {
		t.Errorf("a paused cluster was changed: it was %s and is %s", before, after)
	}
}

// wantError wants one paragraph on stderr, and nothing on stdout.
func wantError(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	r := shared.plugin.Run(t.Context(), strings.NewReader(""), args...)
	t.Logf("%v: %s", args, strings.TrimSpace(r.Stderr))
	if r.Code != code {
		t.Errorf("%v: exit code %d, want %d", args, r.Code, code)
	}
	if !strings.Contains(r.Stderr, "error: ") || !strings.Contains(strings.ToLower(r.Stderr), strings.ToLower(says)) {
		t.Errorf("%v: stderr %q does not say %q", args, r.Stderr, says)
	}
	if r.Stdout != "" {
		t.Errorf("%v: stdout is not empty: %q", args, r.Stdout)
	}
}

// intents are the specs' generations, which any change of a spec raises.
func intents(t *testing.T) (all string) {
	t.Helper()
	list, err := shared.clusters().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		spec, _ := o.Object["spec"].(map[string]any)
		all += o.GetName() + "=" + marshal(t, spec) + " "
	}
	return all
}

package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// exampleFiles are what the examples read, by their paths.
var exampleFiles = map[string]string{
	"basic.yaml":                             exampleCluster,
	"clusters/basic/basic.yaml":              exampleCluster,
	"clusters/basic.yaml":                    exampleCluster,
	"overlays/production/basic.yaml":         exampleCluster,
	"overlays/production/kustomization.yaml": "resources: [basic.yaml]\n",
	"events.ndjson":                          `{"apiVersion":"kubectl-tidb/v1","type":"done","time":"2026-01-02T03:04:05Z","outcome":"converged","cluster":"basic"}` + "\n",
}

const exampleCluster = `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: basic}
spec:
  version: v8.1.0
  pd: {replicas: 3, requests: {storage: 1Gi}}
  tikv: {replicas: 3, requests: {storage: 1Gi}}
  tidb: {replicas: 2}
`

// TestExamplesRun runs the examples in the help of each command, against an API server that has no TidbCluster. Each
// has to get past its arguments: one that is wrong ends with the exit code of a wrong command line.
func TestExamplesRun(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, text := range exampleFiles {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node := corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	server := serve(t, discovery(map[string]any{"/api/v1/nodes/node-1": node}))
	ran := 0
	for _, c := range leaves(tree()) {
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", " ")) {
			args := split(line)
			if args == nil {
				continue
			}
			ran++
			if args[0] == "daemon" { // the build of a test has no released image
				args = append(args, "--image", "kubectl-tidb:test")
			}
			// A command that watches ends with its time: there is nothing to see.
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			to := []string{"--server", server.URL}
			if slices.Contains(args, "--contexts") { // which names servers itself
				to = []string{"--kubeconfig", kubeconfigOf(t, map[string]string{"prod-1": server.URL})}
			}
			r := call(ctx, t, append(to, args...)...)
			cancel()
			if r.code == 2 {
				t.Errorf("%s: kubectl tidb %q is a wrong command line: %s", c.CommandPath(), args, r.err)
			}
		}
	}
	if ran < 60 {
		t.Errorf("only %d examples were run", ran)
	}
	r := call(t.Context(), t, "--server", server.URL, "scale", "basic", "tikv=many")
	if r.code != 2 {
		t.Errorf("a wrong command line ends with %d: %s", r.code, r.err)
	}
}

package cli

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestDaemonRuns: this plugin accepts the command in the manifest's pod, and fails only because
// there is no API server.
func TestDaemonRuns(t *testing.T) {
	for _, flags := range []string{"", "-A", "-A -l tier=prod"} {
		args := append([]string{"daemon", "manifest", "-n", "ops", "--image", "a:1"}, strings.Fields(flags)...)
		r := call(t.Context(), t, args...)
		if r.code != 0 {
			t.Fatalf("%s: %+v", flags, r)
		}
		at := slices.IndexFunc(strings.Split(r.out, "---\n"), func(s string) bool { return strings.Contains(s, "kind: Deployment\n") })
		var d appsv1.Deployment
		if err := yaml.UnmarshalStrict([]byte(strings.Split(r.out, "---\n")[at]), &d); err != nil {
			t.Fatal(err)
		}
		run := d.Spec.Template.Spec.Containers[0].Args
		for i, arg := range run {
			run[i] = strings.Replace(arg, "--listen=:8080", "--listen=127.0.0.1:0", 1)
		}
		wantError(t, flags, call(t.Context(), t, append(run, "--server", "https://127.0.0.1:1")...), exit.Failure, "cannot reach the API server")
	}
}

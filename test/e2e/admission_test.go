package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAdmission: what the API server refuses of the objects of a cluster is said with the field of the TidbCluster, by
// a dry run and by a run, and nothing is made.
func TestAdmission(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-admission")
	for _, c := range []struct{ name, tikv, says string }{
		{"nothing wrong", "", ""},
		{"label", "labels: {team: a b}", "spec.tikv.labels"},
		{"limit below the request", "limits: {cpu: 1m}", "spec.tikv."},
		{"label of a node", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " +
			"{nodeSelectorTerms: [{matchExpressions: [{key: 'a b', operator: Exists}]}]}}}", "spec.tikv.affinity"},
		{"priority class", "priorityClassName: none", "spec.tikv.priorityClassName"},
		{"variable", "env: [{name: '', value: a}]", "spec.tikv.env[0].name"},
	} {
		tikv := "    replicas: 1\n    requests: {cpu: 100m, storage: 1Gi}\n"
		if c.tikv != "" {
			tikv += "    " + c.tikv + "\n"
		}
		file := filepath.Join(t.TempDir(), cluster+".yaml")
		if err := os.WriteFile(file, []byte(manifest("  pd:\n    replicas: 1\n    requests: {storage: 1Gi}\n  tikv:\n"+tikv)), 0o600); err != nil {
			t.Fatal(err)
		}
		code, runs := 3, [][]string{{"--dry-run=server"}, {"--yes"}}
		if c.says == "" {
			code, runs = 0, runs[:1]
		}
		for _, flags := range runs {
			r := s.tidb(t, code, append([]string{"apply", "-f", file}, flags...)...)
			if !strings.Contains(r.Stderr, c.says) {
				t.Errorf("%s %v: %q is not in %s", c.name, flags, c.says, r.Stderr)
			}
		}
	}
	if list, err := s.clusters().List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("made: %v, %v", list, err)
	}
}

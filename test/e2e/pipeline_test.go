package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPipelineStep runs the step of the GitHub action as GitHub does, with files in place of
// GitHub's: a plan, the run, and a request that is refused.
func TestPipelineStep(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "e2e-pipeline")
	for _, step := range []struct {
		name, arguments           string
		code                      int
		output, summary, annotate string
	}{
		{
			"plan", "create basic --version " + from + " --storage 1Gi --pd 1 --tikv 3 --tidb 1 --dry-run --exit-code", 0,
			"exit-code=10\nchanges=true\n", "changes are pending", "",
		},
		{"run", "create basic --version " + from + " --storage 1Gi --pd 1 --tikv 3 --tidb 1 --timeout 5m", 0, "exit-code=0\nchanges=false\n", ": converged in ", ""},
		{"run again", "sync basic --dry-run --exit-code", 0, "exit-code=0\nchanges=false\n", ": converged in ", ""},
		{"refusal", "upgrade basic v7.0.0", 3, "exit-code=3\nchanges=false\n", ": blocked after ", "::error title=kubectl tidb upgrade (exit code 3)::error: cluster e2e-pipeline/basic: update rejected"},
		{"no cluster", "sync basik", 2, "exit-code=2\nchanges=false\n", "", "did you mean basic?"},
	} {
		dir := t.TempDir()
		file := func(name string) string { return filepath.Join(dir, name) }
		cmd := exec.CommandContext(t.Context(), filepath.Join(repository, "plugins", "github-action", "run.sh"))
		cmd.Env = append(os.Environ(), "TIDB="+s.plugin.Binary, "KUBECONFIG="+s.Kubeconfig, "CI=true", "REPORTS="+file("reports"),
			"ARGUMENTS="+step.arguments+" -n "+s.plugin.Namespace, "GITHUB_OUTPUT="+file("output"), "GITHUB_STEP_SUMMARY="+file("summary"))
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != step.code {
			t.Fatalf("%s: exit code %d\n%s", step.name, code, out)
		}
		has := func(name, want string) {
			text, err := os.ReadFile(file(name))
			if want != "" && (err != nil || !strings.Contains(string(text), want)) {
				t.Errorf("%s: %s has no %q: %v %s", step.name, name, want, err, text)
			}
		}
		has("output", step.output)
		has("summary", step.summary)
		if !strings.Contains(string(out), step.annotate) || strings.Contains(string(out), "::error") != (step.code != 0) {
			t.Errorf("%s: the annotation is not %q: %s", step.name, step.annotate, out)
		}
		if step.summary != "" {
			has("reports/junit.xml", `name="converged"`)
			has("reports/report.html", step.summary[2:])
		}
	}
}

package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRemedies runs the commands of remedies in a shell, exactly as they are printed.
// They are those of the golden files of packages plan and component, which are made for
// cluster t in namespace ns; here is a real one of that name. Of commands that differ
// in names and numbers only, one is run. At the end the cluster converges again.
func TestRemedies(t *testing.T) {
	t.Parallel()
	s := newEnvironment(t, "ns")
	s.tidb(t, 0, "create", "t", "--version", from, "--storage", "1Gi", "--tikv", "4", "--tidb", "3")
	lines := printed(t)
	for _, line := range lines {
		out, code := s.paste(t, line)
		t.Logf("%s: exit %d", line, code)
		if problem := misfit(line, out, code); problem != "" {
			t.Errorf("%s: exit code %d, %s:\n%s", line, code, problem, out)
		}
	}
	s.tidb(t, 0, "sync", "t")
}

// refused is the exit code of a command that changes nothing because it must not.
const refused = 3

// found is the exit code of doctor where it has found something.
const found = 10

// commandLine is a command within a line of a golden file, to the end of what can be
// pasted. A remedy is alternatives with "; or " between them, each a text, a command, or
// a text, a colon and a command.
var commandLine = regexp.MustCompile(`(?:^|: |; or )((?:\$\{EDITOR:-vi\} [^;]+ && )?kubectl .*?)(?:; or |$)`)

// printed are the commands in golden files, one of each form. Those that only read come
// first, and those that delete data last.
func printed(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pkg := range []string{"plan", "component"} {
		found, err := filepath.Glob("../../pkg/core/" + pkg + "/testdata/*.golden")
		if err != nil || len(found) < 10 {
			t.Fatalf("%d golden files of package %s: %v", len(found), pkg, err)
		}
		files = append(files, found...)
	}
	forms := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			for _, m := range commandLine.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				if slices.ContainsFunc(absent, func(object string) bool { return strings.Contains(m[1], object) }) {
					continue
				}
				form := names.ReplaceAllString(m[1], "N")
				forms[form] = cmp.Or(forms[form], m[1])
			}
		}
	}
	if len(forms) < 20 {
		t.Fatalf("only %d forms of commands: %q", len(forms), forms)
	}
	var all []string
	for _, line := range forms {
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a, b)) })
	return all
}

// absent are words of commands about what the cluster of this test does not have: TiFlash, services of PD, and other parts,
// which are in namespace db.
var absent = []string{"t-tiflash", "t-tso", "t-scheduling", " -n db"}

// names are what may differ between two commands of one form: ordinals, ids, times.
var names = regexp.MustCompile(`(-\d+\b|\b\d[\d:TZ-]*\b)`)

// order is when a command is run.
func order(line string) int {
	for i, words := range []string{"describe ", "logs ", "get ", "exec ", "patch ", "delete pod ", "tidb restart ", "sync ", "delete statefulset ", "failover "} {
		if strings.Contains(line, words) && !strings.Contains(line, "&&") {
			return i
		}
	}
	return 100
}

// paste runs a line in a shell whose kubectl reaches the node and has the plugin. An
// editor changes nothing.
func (s environment) paste(t *testing.T, line string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	dirs := []string{filepath.Dir(s.plugin.Binary), filepath.Join(filepath.Dir(s.Kubeconfig), "bin"), os.Getenv("PATH")}
	cmd.Env = append(os.Environ(), "PATH="+strings.Join(dirs, string(os.PathListSeparator)), "KUBECONFIG="+s.Kubeconfig, "EDITOR=true")
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%s: %v", line, err)
	}
	return all.String(), cmd.ProcessState.ExitCode()
}

// misfit says what is wrong with how a command ended, "" where nothing is. The cluster
// is healthy, so that some of what a remedy is for is not there.
func misfit(line, out string, code int) string {
	fits := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(out, text) })
	}
	plugin := strings.Contains(line, "kubectl tidb ")
	switch {
	case code == 0:
		return ""
	case plugin && (code == refused || fits("--yes")):
		return "" // there is nothing to do, or it asks for consent and has no terminal
	case plugin && strings.Contains(line, " doctor ") && code == found:
		return ""
	case plugin:
		return "want 0 or a refusal"
	case strings.Contains(line, "/pd-ctl ") && fits(`"/pd-ctl": stat /pd-ctl: no such file`):
		return "" // the node's image of PD has no pd-ctl: it got as far as the container
	case strings.Contains(line, "--previous") && fits("previous terminated container"):
		return ""
	case fits("(NotFound)"):
		return "" // a member or a claim that this cluster does not have
	}
	return "want 0"
}

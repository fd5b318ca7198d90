package plugins

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"
)

// job is a job of a CI system: a folder, and a program in place of the plugin.
type job struct {
	dir string
	env []string
}

// fake is a program that writes how it was called, a report, and what a run would; its exit codes
// are those of the file codes, one a line, and then 0.
const fake = `#!/bin/sh
printf '<%s>' "$@" >> "$JOB/calls"; echo >> "$JOB/calls"
[ -z "$REPORT" ] || for a in "$@"; do case $a in junit=*) markdown=${a#*markdown=}; echo "$REPORT" > "${markdown%%,*}" ;; esac; done
echo "on stdout"; echo "error: on stderr" >&2
if [ -n "${HANG:-}" ]; then trap 'echo "at a safe point"; exit 130' TERM; : > "$JOB/running"; while :; do sleep 0.05; done; fi
code=$(head -n 1 "$JOB/codes" 2>/dev/null); sed -i 1d "$JOB/codes" 2>/dev/null
exit "${code:-0}"
`

func newJob(t *testing.T, env ...string) job {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "kubectl-tidb")
	if err := os.WriteFile(program, []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	j := job{dir: dir}
	j.env = append(os.Environ(), append([]string{
		"JOB=" + dir, "TIDB=" + program, "PATH=" + dir + ":" + os.Getenv("PATH"), "REPORTS=" + filepath.Join(dir, "reports"), "PAUSE=0",
		"REPORT=### a report", "RUNNER_TEMP=" + dir, "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary"), "GITHUB_OUTPUT=" + filepath.Join(dir, "output"),
		"GITHUB_PATH=" + filepath.Join(dir, "path"), "GITHUB_REPOSITORY=me/clusters",
	}, env...)...)
	return j
}

func (j job) command(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := filepath.Abs(plugins + script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = j.dir, j.env
	return cmd
}

// run runs a script, and returns its exit code and its output.
func (j job) run(t *testing.T, script string, args ...string) (int, string) {
	t.Helper()
	cmd := j.command(t, script, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (j job) file(name string) string {
	text, _ := os.ReadFile(filepath.Join(j.dir, name))
	return string(text)
}

// TestStep: the exit code is the verb's, but for changes that a dry run has found, and the same
// command is run again only where that goes on.
func TestStep(t *testing.T) {
	for name, tt := range map[string]struct {
		codes, attempts string
		code, calls     int
		result          string
	}{
		"converged":            {"0", "1", 0, 1, "exit-code=0\nchanges=false\nresume=false\n"},
		"changes":              {"10", "1", 0, 1, "exit-code=10\nchanges=true\nresume=false\n"},
		"failed":               {"1", "3", 1, 1, "exit-code=1\nchanges=false\nresume=false\n"},
		"blocked":              {"3", "3", 3, 1, "exit-code=3\nchanges=false\nresume=false\n"},
		"timed out":            {"4", "1", 4, 1, "exit-code=4\nchanges=false\nresume=true\n"},
		"goes on":              {"4\n8\n0", "3", 0, 3, "exit-code=0\nchanges=false\nresume=false\n"},
		"goes on too often":    {"4\n4\n4", "3", 4, 3, "exit-code=4\nchanges=false\nresume=true\n"},
		"no longer than it is": {"8\n3\n0", "3", 3, 2, "exit-code=3\nchanges=false\nresume=false\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, "ATTEMPTS="+tt.attempts)
			if err := os.WriteFile(filepath.Join(j.dir, "codes"), []byte(tt.codes+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out := j.run(t, "pipeline/step.sh", "upgrade", "basic", "a b", "")
			if calls := j.file("calls"); code != tt.code || strings.Count(calls, "\n") != tt.calls || !strings.HasPrefix(calls, "<upgrade><basic><a b><><--report><junit=") {
				t.Errorf("exit code %d, calls %s, %s", code, calls, out)
			}
			if got := j.file("reports/result"); got != tt.result {
				t.Errorf("result %q", got)
			}
			if log := j.file("reports/log.txt"); !strings.Contains(out, "on stdout\nerror: on stderr\n") || !strings.Contains(log, "on stdout\nerror: on stderr\n") {
				t.Errorf("the job shows %q, and the log is %q", out, log)
			}
		})
	}
	if code, out := newJob(t).run(t, "pipeline/step.sh"); code != 2 || !strings.Contains(out, "a verb is missing") {
		t.Errorf("without a verb: %d %s", code, out)
	}
}

// TestStepIsCancelled: a signal reaches the verb, which stops at a safe point, and the step ends
// after it with its exit code and without another attempt.
func TestStepIsCancelled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	j := newJob(t, "HANG=1", "ATTEMPTS=3")
	cmd := j.command(t, "pipeline/step.sh", "sync", "basic")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(j.dir, "running")); err == nil {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the verb does not begin")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(out.String(), "at a safe point") || strings.Count(j.file("calls"), "\n") != 1 {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	if got := j.file("reports/result"); !strings.Contains(got, "resume=true") {
		t.Errorf("result %q", got)
	}
}

// TestGitHub: what a step writes for GitHub: summary, outputs, and an annotation for a failure.
func TestGitHub(t *testing.T) {
	for name, tt := range map[string]struct {
		code     int
		report   string
		annotate string
	}{
		"converged": {0, "### fine", ""},
		"changes":   {10, "### changes are pending", ""},
		"blocked":   {3, "### blocked\n\n- **blocked** basic-tikv-0: 50% full\n- **waiting** basic-tikv-1", "::error title=kubectl tidb apply (exit code 3)::blocked basic-tikv-0: 50%25 full%0Awaiting basic-tikv-1\n"},
		"no report": {9, "", "::error title=kubectl tidb apply (exit code 9)::error: on stderr"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t, "REPORT="+tt.report, `ARGUMENTS=apply -f "a b.yaml" --dry-run`)
			if err := os.WriteFile(filepath.Join(j.dir, "codes"), []byte(strconv.Itoa(tt.code)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out := j.run(t, "github-action/run.sh")
			if want := tt.code % 10; code != want || !strings.HasPrefix(j.file("calls"), "<apply><-f><a b.yaml><--dry-run><--report>") {
				t.Errorf("exit code %d, %s, %s", code, j.file("calls"), out)
			}
			if got := j.file("summary"); strings.TrimSpace(got) != tt.report {
				t.Errorf("summary %q", got)
			}
			if got, want := j.file("output"), fmt.Sprintf("exit-code=%d\nchanges=%t\nresume=false\nreports=%s\n", tt.code, tt.code == 10, filepath.Join(j.dir, "reports")); got != want {
				t.Errorf("outputs %q, want %q", got, want)
			}
			if tt.annotate == "" && strings.Contains(out, "::error") || !strings.Contains(out, tt.annotate) {
				t.Errorf("annotates %q", out)
			}
		})
	}
}

// TestComment: the report becomes a comment where there is a pull request.
func TestComment(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/pull/42/merge": "<pr><comment><42><--repo><me/clusters><--body-file>", "refs/heads/main": "",
	} {
		j := newJob(t, "GITHUB_REF="+ref)
		if err := os.WriteFile(filepath.Join(j.dir, "gh"), []byte(fake), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(j.dir, "reports"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(j.dir, "reports", "report.md"), []byte("### x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := j.run(t, "github-action/comment.sh")
		if calls := j.file("calls"); code != 0 || (want == "") != (calls == "") || !strings.HasPrefix(calls, want) {
			t.Errorf("%s: %d %s %s", ref, code, calls, out)
		}
	}
}

// TestInstall: a release whose sum is right, a program that is there, and what is refused.
func TestInstall(t *testing.T) {
	releases := t.TempDir()
	archive := archiveOf(t, "1.2.3")
	content := packed(t)
	for version, sum := range map[string][32]byte{"v1.2.3": sha256.Sum256(content), "v1.2.4": {}} {
		name := strings.Replace(archive, "1.2.3", version[1:], 1)
		dir := filepath.Join(releases, version)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		sums := fmt.Sprintf("%x  another.tar.gz\n%x  %s\n", sha256.Sum256(nil), sum, name)
		for file, text := range map[string][]byte{"checksums.txt": []byte(sums), name: content} {
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		env  []string
		code int
		says string
	}{
		"a release":               {[]string{"VERSION=v1.2.3"}, 0, "OK"},
		"a release that differs":  {[]string{"VERSION=v1.2.4"}, 1, "is not that of the release"},
		"no release":              {[]string{"VERSION=v9.9.9"}, 1, "::error title=kubectl tidb::cannot get file://"},
		"a program":               {[]string{"PROGRAM=/bin/true"}, 0, ""},
		"a program that is not":   {[]string{"PROGRAM=/nowhere"}, 2, "there is no program /nowhere"},
		"neither":                 {nil, 2, "give version or program"},
		"a program and a version": {[]string{"PROGRAM=/bin/true", "VERSION=v9.9.9"}, 0, ""},
	} {
		j := newJob(t, append(tt.env, "BASE=file://"+releases)...)
		code, out := j.run(t, "github-action/install.sh")
		if code != tt.code || !strings.Contains(out, tt.says) {
			t.Errorf("%s: %d %s", name, code, out)
		}
		bin := strings.TrimSpace(j.file("path"))
		if _, err := os.Stat(filepath.Join(bin, "kubectl-tidb")); (bin != "" && err == nil) != (tt.code == 0) {
			t.Errorf("%s: the program is in %q: %v", name, bin, err)
		}
	}
}

// archiveOf returns the name that a release gives to the archive of this platform. It is read from .goreleaser.yaml,
// which makes the archives: a name that the test makes up would only repeat the mistake of the script.
func archiveOf(t *testing.T, version string) string {
	t.Helper()
	text, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var release struct {
		Project  string `json:"project_name"`
		Archives []struct {
			Name    string   `json:"name_template"`
			Formats []string `json:"formats"`
		} `json:"archives"`
	}
	if err := yaml.Unmarshal(text, &release); err != nil || len(release.Archives) != 1 {
		t.Fatalf("%+v, %v", release, err)
	}
	var name strings.Builder
	err = template.Must(template.New("").Parse(release.Archives[0].Name)).Execute(&name, map[string]string{
		"ProjectName": release.Project, "Version": version, "Os": runtime.GOOS, "Arch": runtime.GOARCH,
	})
	if err != nil {
		t.Fatal(err)
	}
	return name.String() + "." + release.Archives[0].Formats[0]
}

// TestArgumentsAreNotRun: the arguments are words with quotes. A shell takes no part of them for more.
func TestArgumentsAreNotRun(t *testing.T) {
	for arguments, want := range map[string]string{
		`upgrade basic v8.1.1$(touch INJECTED)`: "<upgrade><basic><v8.1.1$(touch><INJECTED)>",
		"upgrade basic `touch INJECTED`":        "<upgrade><basic><`touch><INJECTED`>",
		`upgrade basic x; touch INJECTED`:       "<upgrade><basic><x;><touch><INJECTED>",
		`upgrade "a b" 'c "d"' e\ f`:            `<upgrade><a b><c "d"><e f>`,
		"upgrade basic\ntouch INJECTED":         "<upgrade><basic><touch><INJECTED>",
		`upgrade $HOME * ~ {a,b} > INJECTED`:    "<upgrade><$HOME><*><~><{a,b}><>><INJECTED>",
		`upgrade --timeout=5m -n prod`:          "<upgrade><--timeout=5m><-n><prod>",
	} {
		j := newJob(t, "ARGUMENTS="+arguments)
		_, out := j.run(t, "github-action/run.sh")
		if got := j.file("calls"); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\n%s", arguments, got, out)
		}
		if _, err := os.Stat(filepath.Join(j.dir, "INJECTED")); err == nil {
			t.Errorf("%s: it was run", arguments)
		}
	}
	if code, out := newJob(t, `ARGUMENTS=upgrade "basic`).run(t, "github-action/run.sh"); code != 2 || !strings.Contains(out, "the arguments cannot be read") {
		t.Errorf("a quote without an end: %d %s", code, out)
	}
}

// packed returns an archive of a release.
func packed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "kubectl-tidb", Mode: 0o755, Size: int64(len(fake))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(fake)); err != nil {
		t.Fatal(err)
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("the archive cannot be written")
	}
	return b.Bytes()
}

// TestK9s: the commands behind the keys call kubectl with the cluster that is selected.
func TestK9s(t *testing.T) {
	entries := at(load(t, "k9s/plugins.yaml"), "plugins")
	for name, want := range map[string]string{
		"tidb-status": "<status><a b>", "tidb-plan": "<sync><a b><--dry-run>", "tidb-sync": "<sync><a b>", "tidb-failover": "<failover><a b>",
	} {
		j := newJob(t, "CONTEXT=eu 1", "NAMESPACE=prod", "NAME=a b")
		if err := os.Rename(filepath.Join(j.dir, "kubectl-tidb"), filepath.Join(j.dir, "kubectl")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(j.dir, "less"), []byte("#!/bin/sh\nexec cat\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		entry := at(entries, name)
		var args []string
		for _, a := range entry["args"].([]any) {
			// k9s replaces what it knows.
			args = append(args, map[string]string{"$CONTEXT": "eu 1", "$NAMESPACE": "prod", "$NAME": "a b"}[a.(string)])
			if args[len(args)-1] == "" {
				args[len(args)-1] = a.(string)
			}
		}
		cmd := exec.Command(entry["command"].(string), args...)
		cmd.Env, cmd.Stdin = j.env, strings.NewReader("\n")
		out, err := cmd.CombinedOutput()
		if calls := j.file("calls"); err != nil || calls != "<tidb><--context><eu 1><-n><prod>"+want+"\n" {
			t.Errorf("%s: %v %s %s", name, err, calls, out)
		}
	}
	if len(entries) != 4 {
		t.Errorf("%d keys", len(entries))
	}
}

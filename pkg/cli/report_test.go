package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// refused returns a server with a cluster whose downgrade is refused.
func refused(t *testing.T) *apiServer {
	return serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("basic")), tidbclusters + "/basic": tidbcluster("basic")})
}

// TestReportOfRefusal: a report is written also when a run is refused, in each format, and the
// command ends as without it.
func TestReportOfRefusal(t *testing.T) {
	dir := t.TempDir()
	junit, page, text := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "run.html"), filepath.Join(dir, "run.md")
	if err := os.WriteFile(page, []byte(strings.Repeat("of an earlier run ", 10000)), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := refused(t).call(t, "scale", "basic", "pd=0")
	got := refused(t).call(t, "scale", "basic", "pd=0", "--report", "junit="+junit+",html="+page, "--report", "markdown="+text)
	if got != plain || got.code == 0 {
		t.Errorf("%+v, and without reports %+v", got, plain)
	}
	for file, says := range map[string]string{junit: `failures="1"`, page: "</html>", text: "### ❌ default / basic, scale pd=0: "} {
		content, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(content), says) || !strings.Contains(string(content), "pd") || strings.Contains(string(content), "earlier") {
			t.Errorf("%s: %v, does not say %q: %s", file, err, says, content)
		}
	}
}

// TestReportNotWritable: a file that cannot be written ends a run before it begins, and none of the
// files is left changed.
func TestReportNotWritable(t *testing.T) {
	dir := t.TempDir()
	before, made := filepath.Join(dir, "before"), filepath.Join(dir, "made")
	if err := os.WriteFile(before, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := refused(t)
	bad := filepath.Join(dir, "nowhere", "junit.xml")
	for _, args := range []string{"upgrade basic v8.1.1 --yes", "sync basic --dry-run", "sync basic -o json"} {
		r := server.call(t, append(strings.Fields(args), "--report", "html="+before+",markdown="+made+",junit="+bad)...)
		wantError(t, args, r, exit.Usage, "the file cannot be written, and nothing was changed: open "+bad)
		if r.out != "" {
			t.Errorf("%s: stdout %q", args, r.out)
		}
	}
	for _, asked := range server.asked() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("asked %s", asked)
		}
	}
	if content, _ := os.ReadFile(before); string(content) != "mine" {
		t.Errorf("%q is left of a file that was there", content)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("a file was made")
	}
}

// TestReport: the verb writes to stdout, or to files, and asks no cluster.
func TestReport(t *testing.T) {
	events := filepath.Join("..", "edge", "report", "document", "testdata", "upgrade.ndjson")
	for format, says := range map[string]string{"junit": "<testsuites", "markdown": "### ✅ eu-1 / prod / basic, upgrade to v8.1.1: ", "html": "<!DOCTYPE html>"} {
		for _, args := range [][]string{{"--from", events}, {"-f", events, "-o", format}} {
			if len(args) == 2 && format != "markdown" {
				continue
			}
			if r := call(t.Context(), t, append([]string{"report"}, args...)...); r.code != 0 || !strings.HasPrefix(strings.TrimPrefix(r.out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"), says) {
				t.Errorf("%q: %d %s %.100q", args, r.code, r.err, r.out)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "run.html")
	if r := call(t.Context(), t, "report", "-f", events, "--report", "html="+file); r.code != 0 || r.out != "" {
		t.Errorf("%+v", r)
	}
	if content, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(content), "<!DOCTYPE html>") {
		t.Errorf("%v %.100q", err, content)
	}
	wantError(t, "no events", call(t.Context(), t, "report", "-f", "-"), exit.Usage, "- has no events of a run")
	// What cannot be read is found before a file is written.
	wantError(t, "a manifest", call(t.Context(), t, "report", "-f", "report_test.go", "--report", "html="+file), exit.Usage, "line 1 is no event")
	if content, _ := os.ReadFile(file); !strings.HasPrefix(string(content), "<!DOCTYPE html>") {
		t.Errorf("%.100q is left of the file", content)
	}
}

// TestReportUsage: wrong arguments of the verb, and of the flag.
func TestReportUsage(t *testing.T) {
	for args, says := range map[string]string{
		"report":                              "give --from FILE",
		"report basic":                        "--bundle FILE for an archive about cluster basic",
		"report basic --bundle x --from y":    "does not go with --from",
		"report basic --bundle x -o html":     "does not go with --from",
		"report --from nothing":               "no such file",
		"report --from x -o pdf":              "supported formats: junit, markdown, html",
		"report -f x -o html --report html=y": "give one of them",
		"sync --report pdf=x":                 `no format "pdf": it has to be one of junit, markdown, html`,
		"sync --report html":                  "needs a file, as html=FILE",
		"sync --report html=x,junit=x":        "two reports to the same file",
		"sync --report junit=-":               "written to a file",
		"sync --watch --report html=x":        "--report does not go with --watch",
	} {
		wantError(t, args, call(t.Context(), t, strings.Fields(args)...), exit.Usage, says)
	}
}

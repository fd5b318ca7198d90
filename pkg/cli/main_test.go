package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// typical returns arguments with which a verb sends requests to the API server; a verb that is not
// here needs none.
func typical(t *testing.T) map[string][]string {
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest, err := json.Marshal(tidbcluster("basic"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBE_EDITOR", "true") // it leaves the file as it is
	return map[string][]string{
		"apply":             {"-f", file},
		"backup create":     {"basic", "--to", "s3://backups/basic", "--from-secret", "s3"},
		"backup delete":     {"basic-20260310-020000", "--files", "--yes"},
		"backup drill":      {"basic"},
		"backup list":       {"basic"},
		"backup log status": {"basic"},
		"backup schedule":   {"basic", "0 3 * * *", "--in", "s3://backups/basic", "--from-secret", "s3", "--plugin-image", "kubectl-tidb:dev"},
		"backup prune":      {"basic", "--keep-last", "1", "--files", "--yes"},
		"backup show":       {"basic-20260310-020000"},
		"backup verify":     {"basic-20260310-020000"},
		"create":            {"basic", "--version", "v8.1.0"},
		"delete":            {"basic", "--yes"},
		"failover":          {"basic"},
		"init":              {},
		"pause":             {"basic"},
		"resume":            {"basic"},
		"evict-leader":      {"basic", "basic-tikv-0"},
		"list":              {},
		"logs":              {"basic"},
		"promote":           {"basic"},
		"replace":           {"basic", "tikv-0", "--yes"},
		"restart":           {"basic", "tikv"},
		"restore":           {"basic", "--from", "s3://backups/basic", "--from-secret", "s3"},
		"scale":             {"basic", "tikv=4"},
		"sql":               {"basic", "-e", "SELECT 1"},
		"status":            {"basic"},
		"sync":              {"basic"},
		"transfer-leader":   {"basic", "basic-pd-0"},
		"why":               {"basic", "basic-pd-0"},
		"tls check":         {"basic"},
		"tls init":          {"basic"},
		"tls rotate":        {"basic"},
		"upgrade":           {"basic", "v8.1.1"},
		"version":           {},
		"wait":              {"basic", "--for=converged"},
		"plan":              {"basic"},
		"doctor":            {"basic"},
		"pvc list":          {"basic"},
		"pvc prune":         {"basic"},
		"abort":             {"basic"},
		"rollback":          {"basic"},
		"config diff":       {"basic"},
		"config get":        {"basic"},
		"config set":        {"basic", "tikv", "log.level=warn"},
		"dashboard":         {"basic"},
		"edit":              {"basic"},
		"events":            {"basic"},
		"report":            {"basic", "--bundle", filepath.Join(t.TempDir(), "basic.tar.gz")},
		"maintenance start": {"node-1"},
		"maintenance stop":  {"node-1"},
		"maintenance list":  {},
	}
}

// wantError fails the test unless stderr is one paragraph and the exit code is the given one.
func wantError(t *testing.T, name string, r result, code exit.Code, says string) {
	t.Helper()
	if r.code != int(code) {
		t.Errorf("%s: exit code %d, want %d", name, r.code, code)
	}
	if !strings.HasPrefix(r.err, "error: ") || !strings.Contains(r.err, says) {
		t.Errorf("%s: stderr %q does not say %q", name, r.err, says)
	}
	if strings.Contains(r.err, "\n\n") || !strings.HasSuffix(r.err, "\n") {
		t.Errorf("%s: stderr %q is not one paragraph", name, r.err)
	}
}

func TestHelp(t *testing.T) {
	want := call(t.Context(), t)
	if want.code != 0 || want.err != "" || !strings.Contains(want.out, "Commands that drive a cluster:") {
		t.Errorf("without arguments: %+v", want)
	}
	for _, args := range []string{"-h", "--help", "help"} {
		if got := call(t.Context(), t, args); got != want {
			t.Errorf("%s: %+v", args, got)
		}
	}
	if strings.Contains(want.out, "--kubeconfig") {
		t.Error("the help of the root has kubectl's flags")
	}
	if options := call(t.Context(), t, "options"); !strings.Contains(options.out, "--kubeconfig") || options.code != 0 {
		t.Errorf("options: %+v", options)
	}
}

func TestUsage(t *testing.T) {
	for args, says := range map[string]string{
		"plan basic --on-evict-timeout=wait --evict-timeout=5m": "waits for ever, so it does not go with --evict-timeout",
		"upgrde basic":                `unknown command "upgrde"; did you mean upgrade?`,
		"destroy basic":               "did you mean delete?",
		"display":                     "did you mean status?",
		"xyzzy":                       `unknown command "xyzzy".`,
		"help xyzzy":                  `unknown command "xyzzy".`,
		"help list status":            "unknown command \"status\"",
		"--fast":                      "unknown flag: --fast",
		"sync -w":                     "unknown shorthand flag: 'w'",
		"sync basic --fast":           "unknown flag: --fast; usage: kubectl tidb sync [NAME];",
		"sync a b":                    "accepts at most 1",
		"scale":                       "requires at least 2",
		"upgrade basic":               "accepts 2 arg",
		"apply":                       "give a file, a folder or a URL with -f",
		"create basic":                `required flag(s) "version"`,
		"list basic":                  "unknown command",
		"completion tcsh":             "tcsh",
		"completion bash zsh":         "at most 1 arg",
		"status -o xml":               "supported formats: wide, json, yaml",
		"sync --exit-code":            "--dry-run",
		"sync --timeout soon":         "timeout",
		"sync --dial dns":             "auto, direct, port-forward",
		"daemon":                      "manifest; usage: kubectl tidb daemon manifest;",
		"daemon run":                  "manifest",
		"daemon manifest":             "no image was released",
		"apply -f nothing.yaml":       "no such file",
		"apply a b -f x.yaml":         "accepts at most 1 arg(s), received 2",
		"apply -f x -k y":             "-k does not go with -f",
		"sync --dry-run=maybe":        `must be "none", "client" or "server"`,
		"apply -f x --dry-run=client": "use --dry-run=server",
		"--context prdo list":         `no context "prdo"`,
		"delete basic --yes=ok":       "--yes",
		"version --server a b":        "unknown command",
		"create Basic --version":      "flag needs an argument",
	} {
		r := call(t.Context(), t, strings.Fields(args)...)
		wantError(t, args, r, exit.Usage, says)
		if r.out != "" {
			t.Errorf("%s: stdout %q", args, r.out)
		}
	}
}

// eachVerb calls f for all commands that talk to Kubernetes, also for those that
// are yet to be written.
func eachVerb(t *testing.T, f func(t *testing.T, args []string)) {
	args := typical(t)
	for _, c := range leaves(tree()) {
		if group(c) == "" || slices.Contains([]string{"auth", "completion", "daemon", "report"}, c.Name()) { // they only print
			continue
		}
		name := strings.Join(words(c), " ")
		given, ok := args[name]
		if !ok {
			t.Errorf("%s is not in typical", name)
		}
		t.Run(name, func(t *testing.T) { f(t, append(words(c), given...)) })
	}
}

func TestNoKubeconfig(t *testing.T) {
	eachVerb(t, func(t *testing.T, args []string) {
		wantError(t, "no kubeconfig", call(t.Context(), t, args...), exit.Failure, "there is no kubeconfig")
	})
}

func TestUnreachable(t *testing.T) {
	eachVerb(t, func(t *testing.T, args []string) {
		begun := time.Now()
		r := call(t.Context(), t, append(args, "--server", "https://127.0.0.1:1")...)
		wantError(t, "unreachable", r, exit.Failure, "cannot reach the API server https://127.0.0.1:1")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestForbidden(t *testing.T) {
	clusters := schema.GroupResource{Group: "pingcap.com", Resource: "tidbclusters"}
	for name, answer := range map[string]*apierrors.StatusError{
		"forbidden":    apierrors.NewForbidden(clusters, "basic", errors.New(`User "nobody" cannot do that`)),
		"unauthorized": apierrors.NewUnauthorized("Unauthorized"),
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(answer.ErrStatus.Code))
			answer.ErrStatus.APIVersion, answer.ErrStatus.Kind = "v1", "Status"
			_ = json.NewEncoder(w).Encode(answer.ErrStatus)
		}))
		eachVerb(t, func(t *testing.T, args []string) {
			wantError(t, name, call(t.Context(), t, append(args, "--server", server.URL)...), exit.Forbidden, "")
		})
		server.Close()
	}
}

// TestDefinitionMissing: a server without the definition of TidbCluster answers all requests about
// them with 404.
func TestDefinitionMissing(t *testing.T) {
	server := serve(t, nil)
	eachVerb(t, func(t *testing.T, args []string) {
		if args[0] == "init" || args[0] == "version" || args[0] == "maintenance" && args[1] != "start" {
			t.Skip("asks for no TidbCluster")
		}
		wantError(t, "definition missing", server.call(t, args...), exit.Refused, "kubectl tidb init")
	})
}

func TestNotFound(t *testing.T) {
	server := serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("basic"))})
	for _, args := range []string{"sync basik", "status basik", "scale basik tikv=4", "upgrade basik v8.1.1"} {
		wantError(t, args, server.call(t, strings.Fields(args)...), exit.Usage, "did you mean basic?")
	}
	server = serve(t, map[string]any{tidbclusters: clusterList()})
	for _, args := range []string{"sync", "status"} {
		wantError(t, args, server.call(t, args), exit.Usage, "there is no TidbCluster in namespace default")
	}
	server = serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("one"), tidbcluster("two"))})
	wantError(t, "sync", server.call(t, "sync"), exit.Usage, "name one: one, two")
}

func TestList(t *testing.T) {
	server := serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("basic"))})
	if r := server.call(t, "list"); r.code != 0 || !strings.Contains(r.out, "basic") || r.err != "" {
		t.Errorf("%+v", r)
	}
	broken := tidbcluster("broken")
	broken["spec"] = "none"
	server = serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("basic"), broken)})
	r := server.call(t, "list")
	wantError(t, "one that cannot be read", r, exit.Failure, "broken")
	if !strings.Contains(r.out, "basic") {
		t.Errorf("the other clusters are missing: %q", r.out)
	}
}

// TestInterrupted: an interrupted command prints no error.
func TestInterrupted(t *testing.T) {
	asked, over := make(chan struct{}, 100), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-over
	}))
	defer server.Close()
	defer close(over)
	eachVerb(t, func(t *testing.T, args []string) {
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() {
			<-asked
			cancel(exit.ErrInterrupted)
		}()
		r := call(ctx, t, append(args, "--server", server.URL)...)
		if r.code != int(exit.Interrupted) || r.err != "" {
			t.Errorf("%+v", r)
		}
	})
}

// TestRefusalAsEvent: with -o json the refusal of a driving verb is an event, once the cluster is
// known.
func TestRefusalAsEvent(t *testing.T) {
	server := serve(t, map[string]any{tidbclusters + "/basic": tidbcluster("basic"), tidbclusters: clusterList(tidbcluster("basic"))})
	r := server.call(t, "create", "basic", "--version", "v8.1.0", "-o", "json")
	var last struct {
		Type, Outcome, Error string
		ExitCode             int
	}
	if err := json.Unmarshal([]byte(r.out), &last); err != nil || r.err != "" {
		t.Fatalf("stdout %q, stderr %q: %v", r.out, r.err, err)
	}
	if r.code != 3 || last.ExitCode != 3 || last.Type != "done" || last.Outcome != "blocked" || !strings.Contains(last.Error, "exists already") {
		t.Errorf("exit code %d, %+v", r.code, last)
	}
	for _, asked := range server.asked() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("a refused command changed something: %s", asked)
		}
	}
}

// TestApplyPaused: a manifest that pauses the cluster is written, and nothing else is changed.
func TestApplyPaused(t *testing.T) {
	paused := tidbcluster("basic")
	paused["spec"].(map[string]any)["paused"] = true
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest, err := json.Marshal(paused)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	empty := map[string]any{"items": []any{}}
	const core, apps = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
	server := serve(t, map[string]any{
		tidbclusters + "/basic": tidbcluster("basic"), "PATCH " + tidbclusters + "/basic": paused,
		core + "services": empty, core + "configmaps": empty, core + "pods": empty,
		core + "persistentvolumeclaims": empty, apps + "statefulsets": empty,
	})
	r := server.call(t, "apply", "-f", file)
	if r.code != int(exit.Paused) || !strings.Contains(r.err, "what is wanted was written, and nothing else was done") {
		t.Errorf("%+v", r)
	}
	writes := 0
	for _, asked := range server.requests() {
		switch {
		case strings.HasPrefix(asked, "PATCH "+tidbclusters+"/basic?"):
			writes++
		case !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All"):
			t.Errorf("changed something else: %s", asked)
		}
	}
	if writes != 2 {
		t.Errorf("wrote %d times, want a dry run and the intent", writes)
	}
	wantError(t, "dry run", server.call(t, "apply", "-f", file, "--dry-run"), exit.Paused, "paused")
	wantError(t, "sync", serve(t, map[string]any{tidbclusters + "/basic": paused}).call(t, "sync", "basic"), exit.Paused, "nothing was changed; end the pause: kubectl tidb resume basic")
}

func TestVersion(t *testing.T) {
	server := serve(t, map[string]any{"/version": map[string]string{"gitVersion": "v1.36.3"}})
	if r := server.call(t, "version"); r.code != 0 || !strings.Contains(r.out, "Kubernetes v1.36.3") {
		t.Errorf("%+v", r)
	}
	if r := call(t.Context(), t, "version", "--client", "-o", "json"); r.code != 0 || !strings.Contains(r.out, `"client"`) {
		t.Errorf("%+v", r)
	}
	// The version is printed also if the server is down.
	r := call(t.Context(), t, "version", "--server", "https://127.0.0.1:1")
	wantError(t, "unreachable", r, exit.Failure, "cannot reach")
	if !strings.Contains(r.out, "kubectl-tidb") {
		t.Errorf("stdout %q", r.out)
	}
}

func TestTidy(t *testing.T) {
	for in, want := range map[string]string{
		"one":                  "one",
		"two:\n  a\n\n  b\n\n": "two:\n  a\n  b",
	} {
		if got := tidy(errors.New(in), ""); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if tidy(nil, "") != "" || tidy(exit.With(exit.Pending, nil), "") != "" {
		t.Error("got a text for no error")
	}
}

package apply

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
)

const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: ca}\n"

// tree writes files, and changes into their folder.
func tree(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("KUBECONFIG", filepath.Join(dir, "no-kubeconfig"))
}

func nothing() *factory.Factory {
	return factory.New(genericiooptions.IOStreams{In: new(bytes.Buffer), Out: io.Discard, ErrOut: io.Discard}, os.Getenv, "")
}

// TestSources: manifests come from files, folders, patterns and kustomize; what is beside the
// TidbCluster is named.
func TestSources(t *testing.T) {
	tree(t, map[string]string{
		"one/basic.yaml": manifest, "one/ca.yml": secret, "one/README.md": "no manifest", "one/deeper/web.json": `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`,
		"deep/er/basic.yaml": manifest,
		"two/a.yaml":         manifest, "two/b.yaml": strings.Replace(manifest, "basic", "second", 1),
		"none/ca.yaml":    secret,
		"typo/basic.yaml": manifest, "typo/ca.yaml": "# ours\n" + manifest + "sepc: {}\n",
		"base/kustomization.yaml": "resources: [basic.yaml, ca.yaml]\nnamePrefix: my-\n", "base/basic.yaml": manifest, "base/ca.yaml": secret,
		"odd/kustomization.yaml": "resources: [basic.yaml]\n", "odd/basic.yaml": manifest + "sepc: {}\n",
	})
	f := named
	for _, c := range []struct {
		name  string
		files Files
		finds string // the cluster, and what is beside it
		says  string
	}{
		{"a file", f("one/basic.yaml"), "basic", ""},
		{"two files", f("one/basic.yaml", "one/ca.yml"), "basic, and other kinds are for kubectl to apply: Secret ca (one/ca.yml)", ""},
		{"a folder", f("one"), "basic, and other kinds are for kubectl to apply: Secret ca (one/ca.yml)", ""},
		{"folders in it", f("one").recursive(), "basic, and other kinds are for kubectl to apply: Secret ca (one/ca.yml), Service web (one/deeper/web.json)", ""},
		{"only deeper", f("deep"), "", "there is no TidbCluster in deep"},
		{"deeper", f("deep").recursive(), "basic", ""},
		{"a pattern", f("on*/*.y*ml"), "basic, and other kinds are for kubectl to apply: Secret ca (one/ca.yml)", ""},
		{"kustomize", kustomized("base"), "my-basic, and other kinds are for kubectl to apply: Secret my-ca (base)", ""},
		{"two clusters", f("two"), "basic second", ""},
		{"the same cluster in two files", f("one", "two"), "", "one/basic.yaml and two/a.yaml both have TidbCluster default/basic: leave one of the files out"},
		{"no cluster", f("none"), "", "there is no TidbCluster in none, and other kinds are for kubectl to apply: Secret ca (none/ca.yaml)"},
		{"a typo in one of them", f("typo"), "", "typo/ca.yaml: line 6: sepc: unknown field"},
		{"a typo for kustomize", kustomized("odd"), "", "odd: sepc: unknown field"},
		{"no kustomization", kustomized("one"), "", "kustomize one: unable to find one of"},
		{"no file", f("basic.yaml"), "", "basic.yaml: no such file or folder"},
		{"nothing", f(), "", "give a file, a folder or a URL with -f"},
		{"-f and -k", Files{resource.FilenameOptions{Filenames: []string{"one"}, Kustomize: "base"}}, "", "-k does not go with -f or -R"},
		{"standard input twice", f("-", "-"), "", "standard input can be read only once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, others, err := c.files.read(t.Context(), nothing(), nil)
			if c.says != "" {
				if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says) {
					t.Errorf("exit code %d, %v; it does not say %q", exit.Of(err), err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(names(all), ",", "") + beside(others); got != c.finds {
				t.Errorf("got  %s\nwant %s", got, c.finds)
			}
		})
	}
}

func (o Files) recursive() Files {
	o.Recursive = true
	return o
}

func kustomized(folder string) Files {
	return Files{resource.FilenameOptions{Kustomize: folder}}
}

// TestURL: a URL is read like a file, also with a typo. A server that fails is asked again, one that
// does not have the file is not, and a server that does not answer can be interrupted.
func TestURL(t *testing.T) {
	tree(t, nil)
	wait := retries
	t.Cleanup(func() { retries = wait })
	retries.Duration = time.Millisecond
	asked := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch r.URL.Path {
		case "/basic.yaml":
			_, _ = io.WriteString(w, manifest)
		case "/later":
			if asked[r.URL.Path] < 3 {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
			_, _ = io.WriteString(w, manifest)
		case "/typo":
			_, _ = io.WriteString(w, manifest+"sepc: {}\n")
		case "/bad":
			w.WriteHeader(http.StatusBadGateway)
		case "/never":
			cancel()
			<-r.Context().Done()
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for path, c := range map[string]struct {
		asked int
		code  exit.Code
		says  string
	}{
		"/basic.yaml": {1, exit.OK, ""},
		"/later":      {3, exit.OK, ""},
		"/typo":       {1, exit.Usage, server.URL + "/typo: line 5: sepc: unknown field"},
		"/none":       {1, exit.Usage, "read " + server.URL + "/none: the server says 404 Not Found"},
		"/bad":        {3, exit.Failure, "read " + server.URL + "/bad: the server says 502 Bad Gateway"},
	} {
		all, _, err := named(server.URL+path).read(t.Context(), nothing(), nil)
		if exit.Of(err) != c.code || asked[path] != c.asked || c.code == exit.OK && names(all) != "basic" || err != nil && err.Error() != c.says {
			t.Errorf("%s, asked %d times: exit code %d, %v", path, asked[path], exit.Of(err), err)
		}
	}
	if _, _, err := named(server.URL+"/never").read(ctx, nothing(), nil); err == nil || asked["/never"] != 1 {
		t.Errorf("interrupted: %v", err)
	}
	server.Close()
	if _, _, err := named(server.URL+"/basic.yaml").read(t.Context(), nothing(), nil); exit.Of(err) != exit.Failure || strings.Count(err.Error(), server.URL) != 1 {
		t.Errorf("no server: %v", err)
	}
}

// TestNames: what names the sources in events and reports has no password and no token.
func TestNames(t *testing.T) {
	for want, o := range map[string]resource.FilenameOptions{
		"basic.yaml, -":                   {Filenames: []string{"basic.yaml", "-"}},
		"https://git.example/a/b.yaml":    {Filenames: []string{"https://me:secret@git.example/a/b.yaml?token=secret#x"}},
		"-k overlays/production":          {Kustomize: "overlays/production"},
		"-k https://git.example/clusters": {Kustomize: "https://me:secret@git.example/clusters?ref=main"},
		`C:\clusters\basic.yaml`:          {Filenames: []string{`C:\clusters\basic.yaml`}},
	} {
		if got := (Files{o}).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestRepeatable: a command that is offered has to read what this command has read.
func TestRepeatable(t *testing.T) {
	for name, want := range map[string]bool{"basic.yaml": true, "https://example.com/a.yaml": true, "-": false, "https://example.com/a.yaml?token=x": false, "https://u:p@example.com/a.yaml": false} {
		o := Files{FilenameOptions: resource.FilenameOptions{Filenames: []string{"more.yaml", name}}}
		if got := o.repeatable(); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

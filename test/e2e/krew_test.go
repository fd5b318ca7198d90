package e2e

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// repository is the repository's folder.
const repository = "../.."

// TestKrew has the real krew install the plugin, as from krew-index, and kubectl find
// it: from a file, then from an index, with an upgrade and its end.
func TestKrew(t *testing.T) {
	t.Parallel()
	k := newKrew(t)
	first, archive := k.release(t, "v0.0.1")
	out := k.run(t, "krew", "install", "--manifest", first, "--archive", archive)
	for _, want := range []string{"Installed plugin: tidb", "kubectl tidb init"} {
		if !strings.Contains(out, want) {
			t.Errorf("krew install prints %q, without %q", out, want)
		}
	}
	k.works(t, "v0.0.1")

	// Without a clone of an index krew does not even uninstall.
	k.publish(t, first)
	k.run(t, "krew", "update")
	k.run(t, "krew", "uninstall", "tidb")
	if out := k.run(t, "krew", "search", "tidb"); !strings.Contains(out, "Drive TiDB clusters") {
		t.Errorf("krew search prints %q", out)
	}
	k.run(t, "krew", "install", "tidb")
	k.works(t, "v0.0.1")
	second, _ := k.release(t, "v0.0.2")
	k.publish(t, second)
	k.run(t, "krew", "upgrade", "tidb")
	k.works(t, "v0.0.2")
	k.run(t, "krew", "uninstall", "tidb")
	if out, err := k.command(t, "kubectl", "tidb", "version", "--client").CombinedOutput(); err == nil {
		t.Errorf("kubectl still finds the plugin: %s", out)
	}
}

// krew is krew in a folder of its own, with an index of its own: the one on the
// internet does not have this plugin, and tests do not need the internet.
type krew struct {
	root, index, releases string
	address               string
}

func newKrew(t *testing.T) krew {
	t.Helper()
	dir := t.TempDir()
	k := krew{root: filepath.Join(dir, "krew"), index: filepath.Join(dir, "index"), releases: filepath.Join(dir, "releases")}
	for _, d := range []string{k.tools(), filepath.Join(k.index, "plugins"), k.releases} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(k.tools(), "kubectl-krew"), "sigs.k8s.io/krew/cmd/krew")
	build.Dir = filepath.Join(repository, "test", "release")
	must(t, build)
	// krew takes plugins from a git repository only: it clones it, and pulls before
	// each installation and upgrade.
	must(t, k.command(t, "git", "init", "-q", "-b", "main", k.index))
	server := httptest.NewServer(http.FileServer(http.Dir(k.releases)))
	t.Cleanup(server.Close)
	k.address = server.URL
	return k
}

// tools is the folder of krew itself, and of what makes kubectl complete arguments.
func (k krew) tools() string { return filepath.Join(filepath.Dir(k.root), "tools") }

// command is a command that sees the plugins of krew, and no others.
func (k krew) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	folders := []string{filepath.Join(k.root, "bin"), k.tools(), filepath.Join(filepath.Dir(shared.Kubeconfig), "bin")}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "kubectl-tidb")); err != nil {
			folders = append(folders, dir)
		}
	}
	search := strings.Join(folders, string(filepath.ListSeparator))
	for _, dir := range folders {
		if found := filepath.Join(dir, name); name == "kubectl" {
			if _, err := os.Stat(found); err == nil {
				name = found
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PATH="+search, "KUBECONFIG="+shared.Kubeconfig, "KREW_ROOT="+k.root,
		"KREW_DEFAULT_INDEX_URI="+k.index, "KREW_NO_UPGRADE_CHECK=1", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@localhost", "GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@localhost")
	return cmd
}

// run runs kubectl, and returns all that it prints.
func (k krew) run(t *testing.T, args ...string) string {
	t.Helper()
	return must(t, k.command(t, "kubectl", args...))
}

// release makes a release for this platform alone: the archive with what
// .goreleaser.yaml puts into it, and the manifest that is made for it as for others.
func (k krew) release(t *testing.T, version string) (manifest, archive string) {
	t.Helper()
	name := fmt.Sprintf("kubectl-tidb_%s_%s_%s.tar.gz", version, runtime.GOOS, runtime.GOARCH)
	dir := filepath.Join(k.releases, version)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, manifest = filepath.Join(dir, name), filepath.Join(dir, "tidb.yaml")
	sum := pack(t, archive)
	sums := filepath.Join(dir, "checksums.txt")
	if err := os.WriteFile(sums, []byte(sum+"  "+name+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Abs(filepath.Join(repository, "krew", "tidb.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fill := exec.CommandContext(t.Context(), "go", "run", "./manifest", "-from", from, "-checksums", sums,
		"-version", version, "-only", runtime.GOOS+"/"+runtime.GOARCH, "-o", manifest)
	fill.Dir = filepath.Join(repository, "test", "release")
	must(t, fill)
	return manifest, archive
}

// publish puts a manifest into the index, with the address of the server of this test.
func (k krew) publish(t *testing.T, manifest string) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	const released = "https://github.com/kubectl-tidb/kubectl-tidb/releases/download"
	if !strings.Contains(string(text), released) {
		t.Fatalf("%s does not have %s", manifest, released)
	}
	local := strings.ReplaceAll(string(text), released, k.address)
	if err := os.WriteFile(filepath.Join(k.index, "plugins", "tidb.yaml"), []byte(local), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, k.command(t, "git", "-C", k.index, "add", "."))
	must(t, k.command(t, "git", "-C", k.index, "commit", "-q", "-m", filepath.Base(filepath.Dir(manifest))))
}

// works asserts that kubectl starts the plugin of a version, which asks the API
// server, and that kubectl completes its arguments.
func (k krew) works(t *testing.T, version string) {
	t.Helper()
	target, err := os.Readlink(filepath.Join(k.root, "bin", "kubectl-tidb"))
	if err != nil || !strings.Contains(target, "/"+version+"/") {
		t.Errorf("the plugin is %q, want version %s: %v", target, version, err)
	}
	if out := k.run(t, "tidb", "version"); !strings.HasPrefix(out, "kubectl-tidb ") || !strings.Contains(out, "Kubernetes v") {
		t.Errorf("kubectl tidb version prints %q", out)
	}
	script := k.run(t, "tidb", "completion")
	if err := os.WriteFile(filepath.Join(k.tools(), "kubectl_complete-tidb"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if out := k.run(t, "__complete", "tidb", "up"); !strings.Contains(out, "upgrade") {
		t.Errorf("kubectl completes \"tidb up\" with %q", out)
	}
}

// pack makes an archive of the built plugin and returns its SHA-256 sum.
func pack(t *testing.T, archive string) string {
	t.Helper()
	file, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	packed := gzip.NewWriter(io.MultiWriter(file, sum))
	w := tar.NewWriter(packed)
	add(t, w, filepath.Join(repository, "bin", "kubectl-tidb"), "kubectl-tidb")
	for _, f := range packedFiles(t) {
		found, err := filepath.Glob(filepath.Join(repository, f.Src))
		if err != nil || len(found) == 0 {
			t.Fatalf("no file %s: run make e2e: %v", f.Src, err)
		}
		for _, source := range found {
			add(t, w, source, path.Join(f.Dst, filepath.Base(source)))
		}
	}
	for _, c := range []io.Closer{w, packed, file} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

type packedFile struct{ Src, Dst string }

// packedFiles are those that a release has in its archives beside the program.
func packedFiles(t *testing.T) []packedFile {
	t.Helper()
	var config struct {
		Archives []struct{ Files []packedFile }
	}
	text, err := os.ReadFile(filepath.Join(repository, ".goreleaser.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil || len(config.Archives) != 1 {
		t.Fatalf(".goreleaser.yaml has %d kinds of archives, want 1: %v", len(config.Archives), err)
	}
	return config.Archives[0].Files
}

func add(t *testing.T, w *tar.Writer, source, name string) {
	t.Helper()
	content, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}
	if err := w.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
}

// must runs a command that has to succeed, and returns all that it prints.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

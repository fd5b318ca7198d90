package release

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"sigs.k8s.io/krew/pkg/index"
	"sigs.k8s.io/yaml"
)

var dist = flag.String("dist", "", "the folder of a release, to check it")

// largest is the size that a program may have, which users download and which
// starts with every command.
const largest = 72_000_000

// folder is where the tests of this package keep their things.
var folder string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if folder, err = os.MkdirTemp("", "release"); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// TestSnapshot checks what "make release-snapshot" has made.
func TestSnapshot(t *testing.T) {
	if *dist == "" {
		t.Skip("make release-snapshot runs this")
	}
	manifest := filepath.Join(*dist, "krew", "tidb.yaml")
	if err := validate(t, manifest); err != nil {
		t.Fatal(err)
	}
	var plugin index.Plugin
	if err := yaml.UnmarshalStrict([]byte(read(t, manifest)), &plugin); err != nil {
		t.Fatal(err)
	}
	sums := checksums(t)
	platforms := map[string]bool{}
	for _, p := range plugin.Spec.Platforms {
		labels := p.Selector.MatchLabels
		platform := labels["os"] + "/" + labels["arch"]
		platforms[platform] = true
		t.Run(platform, func(t *testing.T) {
			archive := filepath.Base(p.URI)
			if p.Sha256 != sums[archive] {
				t.Errorf("%s: the manifest has the sum %s, checksums.txt %s", archive, p.Sha256, sums[archive])
			}
			if !strings.Contains(p.URI, "/"+plugin.Spec.Version+"/") {
				t.Errorf("%s is not of release %s", p.URI, plugin.Spec.Version)
			}
			checkArchive(t, filepath.Join(*dist, archive), p, plugin.Spec.Version)
			bill := strings.TrimSuffix(strings.TrimSuffix(archive, ".zip"), ".tar.gz") + ".cdx.json"
			if sums[bill] == "" {
				t.Errorf("checksums.txt does not have %s", bill)
			}
			checkBill(t, filepath.Join(*dist, bill), plugin.Spec.Version)
			installs(t, manifest, filepath.Join(*dist, archive), p)
		})
	}
	for _, os := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			if !platforms[os+"/"+arch] {
				t.Errorf("%s/%s is not in the manifest", os, arch)
			}
		}
	}
}

// checksums returns what checksums.txt has, after comparison with the files.
func checksums(t *testing.T) map[string]string {
	t.Helper()
	sums := map[string]string{}
	for line := range strings.Lines(read(t, filepath.Join(*dist, "checksums.txt"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		got := sha256.Sum256([]byte(read(t, filepath.Join(*dist, name))))
		if hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the sum %x, checksums.txt has %s", name, got, sum)
		}
		sums[name] = sum
	}
	return sums
}

func checkArchive(t *testing.T, file string, p index.Platform, version string) {
	t.Helper()
	files, err := contents(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"LICENSE", "README.md", "THIRD_PARTY_NOTICES", "completions/kubectl-tidb.bash", "completions/kubectl-tidb.fish",
		"completions/kubectl-tidb.powershell", "completions/kubectl-tidb.zsh", "completions/kubectl_complete-tidb", p.Bin,
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("%s has %v, want %v", file, got, want)
	}
	for name, f := range files {
		if len(f.content) == 0 {
			t.Errorf("%s in %s is empty", name, file)
		}
	}
	for _, name := range []string{p.Bin, "completions/kubectl_complete-tidb"} {
		if files[name].mode&0o111 == 0 {
			t.Errorf("%s in %s cannot be started: its mode is %v", name, file, files[name].mode)
		}
	}
	program := files[p.Bin].content
	t.Logf("program %.1f MB, archive %.1f MB", float64(len(program))/1e6, size(t, file))
	if len(program) > largest {
		t.Errorf("the program has %d bytes, more than %d", len(program), largest)
	}
	checkProgram(t, program, p, version)
}

func checkProgram(t *testing.T, program []byte, p index.Platform, version string) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	labels := p.Selector.MatchLabels
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{
		"GOOS": labels["os"], "GOARCH": labels["arch"], "CGO_ENABLED": "0", "-trimpath": "true",
	} {
		if settings[key] != want {
			t.Errorf("the program is built with %s=%q, want %q", key, settings[key], want)
		}
	}
	if labels["os"] != runtime.GOOS || labels["arch"] != runtime.GOARCH {
		if !bytes.Contains(program, []byte(version)) {
			t.Errorf("version %s is not in the program", version)
		}
		return
	}
	file := filepath.Join(t.TempDir(), p.Bin)
	if err := os.WriteFile(file, program, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(file, "version", "--client").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "kubectl-tidb "+version+" ") {
		t.Errorf("version --client prints %q: %v", out, err)
	}
}

func checkBill(t *testing.T, file, version string) {
	t.Helper()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(strings.NewReader(read(t, file)), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := bom.Metadata.Component.Version; got != version {
		t.Errorf("the bill is of version %s, want %s", got, version)
	}
	if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool { return c.Name == "k8s.io/client-go" }) {
		t.Errorf("%s does not have k8s.io/client-go", file)
	}
}

// installs has the real krew install an archive, as on the archive's platform.
func installs(t *testing.T, manifest, archive string, p index.Platform) {
	t.Helper()
	root := t.TempDir()
	cmd := exec.Command(tool(t, "krew"), "install", "--manifest", manifest, "--archive", archive)
	cmd.Env = append(os.Environ(), "KREW_ROOT="+root, "KREW_NO_UPGRADE_CHECK=1",
		"KREW_OS="+p.Selector.MatchLabels["os"], "KREW_ARCH="+p.Selector.MatchLabels["arch"])
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("krew install: %v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(root, "store", "tidb", "*", p.Bin))
	if err != nil || len(found) != 1 {
		t.Errorf("krew has installed %v: %v", found, err)
	}
}

func size(t *testing.T, file string) float64 {
	t.Helper()
	stat, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return float64(stat.Size()) / 1e6
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

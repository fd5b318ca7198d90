package release

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// config is what these tests read of .goreleaser.yaml.
type config struct {
	Before struct {
		Hooks []string `json:"hooks"`
	} `json:"before"`
	Archives []struct {
		Files []any `json:"files"`
	} `json:"archives"`
	Checksum struct {
		Name string `json:"name_template"`
	} `json:"checksum"`
	Signs []struct {
		Artifacts string   `json:"artifacts"`
		Cmd       string   `json:"cmd"`
		Signature string   `json:"signature"`
		Args      []string `json:"args"`
	} `json:"signs"`
}

// workflow is what these tests read of a workflow.
type workflow struct {
	Jobs map[string]struct {
		Permissions map[string]string `json:"permissions"`
		Steps       []struct {
			Uses string            `json:"uses"`
			Run  string            `json:"run"`
			With map[string]any    `json:"with"`
			Env  map[string]string `json:"env"`
		} `json:"steps"`
	} `json:"jobs"`
}

func parsed[T any](t *testing.T, file string) T {
	t.Helper()
	var out T
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join("..", "..", file))), &out); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return out
}

// TestSigned: the sums of a release are signed without a key, and a snapshot does not try it. The licences of others
// are made before the archives, which have them.
func TestSigned(t *testing.T) {
	c := parsed[config](t, ".goreleaser.yaml")
	if len(c.Signs) != 1 || c.Signs[0].Artifacts != "checksum" || c.Signs[0].Cmd != "cosign" || !slices.Contains(c.Signs[0].Args, "--bundle=${signature}") {
		t.Errorf("%+v", c.Signs)
	}
	if !slices.ContainsFunc(c.Before.Hooks, func(h string) bool { return strings.Contains(h, "notices") }) {
		t.Errorf("%q makes no notices", c.Before.Hooks)
	}
	if !regexp.MustCompile(`GORELEASER\) release --snapshot.*--skip=[a-z,]*sign`).MatchString(read(t, filepath.Join("..", "..", "Makefile"))) {
		t.Error("a snapshot would sign")
	}
	for _, a := range c.Archives {
		if !slices.ContainsFunc(a.Files, func(f any) bool { m, ok := f.(map[string]any); return ok && m["dst"] == "THIRD_PARTY_NOTICES" }) {
			t.Errorf("%v has no notices", a.Files)
		}
	}
}

// TestReleaseWorkflow: the workflow may do what it has to and no more, and says how the files with the signed sums were
// made, after goreleaser has made them.
func TestReleaseWorkflow(t *testing.T) {
	c, w := parsed[config](t, ".goreleaser.yaml"), parsed[workflow](t, ".github/workflows/release.yaml")
	job := w.Jobs["release"]
	for right, want := range map[string]string{"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"} {
		if job.Permissions[right] != want {
			t.Errorf("%s: %q, want %q", right, job.Permissions[right], want)
		}
	}
	if len(w.Jobs) != 1 || len(job.Permissions) != 4 {
		t.Errorf("%d jobs, %v", len(w.Jobs), job.Permissions)
	}
	var order []string
	for _, s := range job.Steps {
		name, _, _ := strings.Cut(s.Uses, "@")
		switch {
		case name == "sigstore/cosign-installer", name == "actions/attest-build-provenance":
			order = append(order, name)
		case strings.Contains(s.Run, "goreleaser release"):
			order = append(order, "goreleaser")
		}
		if name == "actions/attest-build-provenance" && s.With["subject-checksums"] != "dist/"+c.Checksum.Name {
			t.Errorf("%v is attested, and %s is what goreleaser writes", s.With, c.Checksum.Name)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%q would run what an expression returns", s.Run)
		}
	}
	if want := []string{"sigstore/cosign-installer", "goreleaser", "actions/attest-build-provenance"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

// TestAdvisoriesAreWatched: a workflow asks for known vulnerabilities, of the modules as they are.
func TestAdvisoriesAreWatched(t *testing.T) {
	w := parsed[workflow](t, ".github/workflows/advisories.yaml")
	if steps := w.Jobs["govulncheck"].Steps; len(steps) == 0 || !strings.Contains(steps[len(steps)-1].Run, "govulncheck") {
		t.Errorf("%+v", w.Jobs)
	}
	if text := read(t, filepath.Join("..", "..", ".github", "workflows", "advisories.yaml")); !strings.Contains(text, "schedule:") {
		t.Error("only changes are checked, and most advisories come later")
	}
}

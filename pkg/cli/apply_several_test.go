package cli

import (
	"bufio"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// twoParts returns manifests of a part and of the part with PD, in this order.
func twoParts(more, pd string) string {
	part := `apiVersion: pingcap.com/v1alpha1
kind: TidbCluster
metadata: {name: shop-more}
spec:
  version: ` + more + `
  cluster: {name: shop}
  tikv: {replicas: 2, requests: {storage: 10Gi}, config: ""}
---
`
	return part + strings.Replace(strings.Replace(right, "name: basic", "name: shop", 1), "version: v8.1.0", "version: "+pd, 1)
}

// applyFile runs apply on a file, and returns what was written.
func applyFile(t *testing.T, manifest string, args ...string) (result, []string) {
	t.Helper()
	s := serveStrictly(t)
	file := filepath.Join(t.TempDir(), "parts.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	r := call(t.Context(), t, append([]string{"--server", s.URL, "-n", "default", "apply", "-f", file}, args...)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.out, r.err = strings.ReplaceAll(r.out, file, "parts.yaml"), strings.ReplaceAll(r.err, file, "parts.yaml")
	return r, s.writes
}

// TestApplySeveral: several TidbClusters are all checked before anything is written. A part is checked against the part
// with PD that is applied with it, and comes after it, whatever their order in the file.
func TestApplySeveral(t *testing.T) {
	const shop, more = "PATCH " + tidbclusters + "/shop", "PATCH " + tidbclusters + "/shop-more"
	suspended := strings.ReplaceAll(twoParts("v8.1.0", "v8.1.0"), "\nspec:\n", "\nspec:\n  suspendAction: {suspendStatefulSet: true}\n")
	for _, c := range []struct {
		name, manifest string
		args           []string
		code           int
		says           []string
		writes         []string
	}{
		{"a dry run shows both, in order", twoParts("v8.1.0", "v8.1.0"), []string{"--dry-run"}, 0, []string{"cluster default/shop, apply", "cluster default/shop-more, apply"}, nil},
		{"a dry run of both suspended shows the part first", suspended, []string{"--dry-run"}, 0, []string{"cluster default/shop-more has converged", "cluster default/shop, apply"}, nil},
		{"a part that is newer than PD in the file", twoParts("v8.1.1", "v8.1.0"), nil, 3, []string{
			"cluster default/shop: nothing was changed, because not all TidbClusters of parts.yaml can be applied",
			"cluster default/shop-more: update rejected; nothing was changed: spec.tikv.version: Invalid value: \"v8.1.1\": PD of default/shop has v8.1.0",
		}, nil},
		{"the part with PD is wrong", twoParts("v8.1.0", "v8.1.0\n  recoveryMode: true"), nil, 3, []string{"spec.recoveryMode", "cluster default/shop-more: nothing was changed, because"}, nil},
		{"the first write fails", twoParts("v8.1.0", "v8.1.0"), []string{"--yes"}, 1, []string{
			"cluster default/shop-more was left as it is: it comes after cluster default/shop", "kubectl tidb apply shop-more -f parts.yaml -n default",
		}, []string{shop}},
		{"clusters that do not need each other go on", strings.Replace(twoParts("v8.1.0", "v8.1.0"), "cluster: {name: shop}", "pd: {replicas: 1, requests: {storage: 1Gi}, config: \"\"}", 1), []string{"--yes"}, 1, nil, []string{more, shop}},
		{"one of two", twoParts("v8.1.0", "v8.1.0"), []string{"shop", "--yes"}, 1, nil, []string{shop}},
		{"the part alone", twoParts("v8.1.0", "v8.1.0"), []string{"shop-more"}, 3, []string{`spec.cluster: Not found: "default/shop"`}, nil},
		{"a name that is not there", twoParts("v8.1.0", "v8.1.0"), []string{"basic"}, 2, []string{`there is no TidbCluster "basic" in parts.yaml, which has shop-more, shop`}, nil},
	} {
		r, writes := applyFile(t, c.manifest, c.args...)
		said := strings.Join(strings.Fields(r.err+r.out), " ")
		at := 0
		for _, says := range c.says {
			if found := strings.Index(said[at:], says); found < 0 {
				t.Errorf("%s: %q is not there, in this order:\n%s", c.name, says, r.err+r.out)
			} else {
				at += found
			}
		}
		if r.code != c.code || !slices.Equal(writes, c.writes) {
			t.Errorf("%s: exit code %d, written %q\n%s", c.name, r.code, writes, r.err+r.out)
		}
	}
}

// TestApplySeveralEvents: each cluster has its last event in the stream of a command that is refused.
func TestApplySeveralEvents(t *testing.T) {
	r, _ := applyFile(t, twoParts("v8.1.1", "v8.1.0"), "-o", "json")
	var done []string
	lines := bufio.NewScanner(strings.NewReader(r.out))
	for lines.Scan() {
		var e struct {
			Type, Cluster, Outcome string
			ExitCode               int
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.Type == "done" {
			done = append(done, e.Cluster+" "+e.Outcome)
		}
	}
	if want := []string{"shop blocked", "shop-more blocked"}; !slices.Equal(done, want) || r.code != 3 {
		t.Errorf("exit code %d, %q\n%s%s", r.code, done, r.out, r.err)
	}
}

// TestApplySeveralPaused: clusters that do not need each other are each written, also where one ends early. A part whose
// PD part ends early is not.
func TestApplySeveralPaused(t *testing.T) {
	const head = "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: "
	for _, c := range []struct {
		name  string
		joins bool
		want  []string
	}{
		{"two clusters", false, []string{"basic", "more"}},
		{"a part", true, []string{"basic"}},
	} {
		first, second := tidbcluster("basic"), tidbcluster("more")
		for _, tc := range []map[string]any{first, second} {
			tc["spec"].(map[string]any)["paused"] = true
		}
		if spec := second["spec"].(map[string]any); c.joins {
			delete(spec, "pd")
			spec["cluster"] = map[string]any{"name": "basic"}
		}
		answers := nothingLeft()
		answers["PATCH "+tidbclusters+"/basic"], answers["PATCH "+tidbclusters+"/more"] = first, second
		answers["GET "+tidbclusters+"/basic"], answers["GET "+tidbclusters+"/more"] = first, second
		answers["/api/v1/namespaces/default/services"] = map[string]any{"kind": "ServiceList", "apiVersion": "v1", "items": []any{}}
		answers["/api/v1/namespaces/default/configmaps"] = map[string]any{"kind": "ConfigMapList", "apiVersion": "v1", "items": []any{}}
		s := serve(t, answers)
		file := filepath.Join(t.TempDir(), "both.yaml")
		if err := os.WriteFile(file, []byte(head+"more}\nspec: {}\n---\n"+head+"basic}\nspec: {}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := s.call(t, "apply", "-f", file, "-n", "default", "--yes")
		written := map[string]bool{}
		for _, asked := range s.requests() {
			if path, is := strings.CutPrefix(asked, "PATCH "+tidbclusters+"/"); is && !strings.Contains(path, "dryRun") {
				name, _, _ := strings.Cut(path, "?")
				written[name] = true
			}
		}
		if got := slices.Sorted(maps.Keys(written)); r.code != 6 || !slices.Equal(got, c.want) {
			t.Errorf("%s: exit code %d, written %q\n%s%s", c.name, r.code, got, r.out, r.err)
		}
		if c.joins && !strings.Contains(r.err, "cluster default/more was left as it is: it comes after cluster default/basic") {
			t.Errorf("%s: %s", c.name, r.err)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kept returns an API server with the claims of a deleted cluster, on which this version has run;
// no record for "".
func kept(t *testing.T, version string, more map[string]any) *apiServer {
	labels := map[string]string{
		"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator", "app.kubernetes.io/instance": "basic",
	}
	claim := func(name, component string) map[string]any {
		own := map[string]string{"app.kubernetes.io/component": component}
		for k, v := range labels {
			own[k] = v
		}
		meta := map[string]any{"namespace": "default", "name": name, "uid": name, "labels": own}
		if version != "" {
			meta["annotations"] = map[string]string{"kubectl-tidb/ran-version": version}
		}
		return map[string]any{"metadata": meta}
	}
	claims := []any{claim("pd-basic-pd-0", "pd"), claim("tikv-basic-tikv-0", "tikv"), claim("tikv-basic-tikv-1", "tikv"), claim("tikv-basic-tikv-2", "tikv")}
	empty := map[string]any{"items": []any{}}
	const core, apps = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
	answers := map[string]any{
		"GET " + tidbclusters: clusterList(),
		core + "services":     empty, core + "configmaps": empty, core + "pods": empty, apps + "statefulsets": empty,
		core + "persistentvolumeclaims": map[string]any{"items": claims},
	}
	for path, answer := range more {
		answers[path] = answer
	}
	return serve(t, answers)
}

// TestKeptData: a cluster with the name of a deleted one is refused if a lower version would start
// on the data of a higher one.
func TestKeptData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest := "apiVersion: pingcap.com/v1alpha1\nkind: TidbCluster\nmetadata: {name: basic}\nspec: {version: v8.1.0}\n"
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	there := map[string]any{tidbclusters + "/basic": tidbcluster("basic")}
	applied := map[string]any{"PATCH " + tidbclusters + "/basic": tidbcluster("basic")}
	for _, c := range []struct {
		name   string
		args   []string
		more   map[string]any
		remedy string
	}{
		{"create", []string{"create", "basic", "--version", "v8.1.0", "--pd", "1"}, nil,
			"kubectl tidb --server URL create basic --version v8.5.2 --pd 1 -n default"},
		{"create, with =", []string{"create", "basic", "--version=v8.1.0"}, nil, "create basic --version=v8.5.2 -n default"},
		{"apply", []string{"apply", "-f", file}, applied, "write spec.version: v8.5.2 into the manifest"},
		{"sync", []string{"sync", "basic"}, there, "kubectl tidb upgrade basic v8.5.2 -n default"},
	} {
		s := kept(t, "v8.5.2", c.more)
		r := s.call(t, c.args...)
		said := strings.ReplaceAll(r.err, s.URL, "URL")
		for _, says := range []string{
			"v8.5.2 has run on claim pd-basic-pd-0 of PD, v8.5.2 has run on claims tikv-basic-tikv-0 and 2 others of TiKV",
			c.remedy,
			"kubectl tidb delete basic --delete-pvcs -n default",
		} {
			if r.code != 3 || !strings.Contains(said, says) {
				t.Errorf("%s: exit code %d, %q does not say %q", c.name, r.code, said, says)
			}
		}
		for _, asked := range s.asked() {
			// The result of a manifest is read with a dry run.
			if !strings.HasPrefix(asked, "GET ") && !strings.HasPrefix(asked, "PATCH "+tidbclusters) {
				t.Errorf("%s changed something: %s", c.name, asked)
			}
		}
	}
	for version, says := range map[string]string{
		"":        "PD: claim pd-basic-pd-0 is there already with its data, and it is not known which version has run on it",
		"nightly": "nightly has run on it, which is no release",
	} {
		r := kept(t, version, map[string]any{"POST " + tidbclusters: tidbcluster("basic")}).call(t, "create", "basic", "--version", "v8.1.0", "--dry-run")
		if r.code != 0 || !strings.Contains(r.out, says) {
			t.Errorf("%q: %+v", version, r)
		}
	}
	for flag, writes := range map[string]bool{"--dry-run=client": false, "--dry-run=server": true} {
		server := kept(t, "v8.1.0", map[string]any{"POST " + tidbclusters: tidbcluster("basic")})
		r := server.call(t, "create", "basic", "--version", "v8.1.1", flag)
		if wrote := slices.Contains(server.asked(), "POST "+tidbclusters); r.code != 0 || wrote != writes {
			t.Errorf("%s: asks the API server to check the change: %t, want %t; %+v", flag, wrote, writes, r)
		}
	}
	if r := kept(t, "v8.1.0", map[string]any{"POST " + tidbclusters: tidbcluster("basic")}).call(t, "create", "basic", "--version", "v8.1.1", "--dry-run"); r.code != 0 || strings.Contains(r.out, "note:") {
		t.Errorf("a higher version: %+v", r)
	}
}

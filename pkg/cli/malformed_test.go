package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// malformed returns an API server with a cluster whose TiKV has a configuration that is no TOML,
// and with the pod of its first store.
func malformed(t *testing.T) *apiServer {
	tc := tidbcluster("basic")
	tc["spec"].(map[string]any)["tikv"].(map[string]any)["config"] = "[log]\nlevel = info\n"
	labels := map[string]string{
		"app.kubernetes.io/name": "tidb-cluster", "app.kubernetes.io/managed-by": "tidb-operator",
		"app.kubernetes.io/instance": "basic", "app.kubernetes.io/component": "tikv",
	}
	set := map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "basic-tikv", "uid": "2", "labels": labels},
		"spec":     map[string]any{"replicas": 3},
	}
	pod := map[string]any{
		"metadata": map[string]any{"namespace": "default", "name": "basic-tikv-0", "uid": "3", "labels": labels},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "tikv", "image": "pingcap/tikv:v8.1.0"}}},
		"status":   map[string]any{"phase": "Pending"},
	}
	empty := map[string]any{"items": []any{}}
	const core, apps = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
	return serve(t, map[string]any{
		tidbclusters + "/basic": tc, tidbclusters: clusterList(tc, tidbcluster("other")),
		core + "services": empty, core + "configmaps": empty, core + "persistentvolumeclaims": empty,
		core + "pods":         map[string]any{"items": []any{pod}},
		apps + "statefulsets": map[string]any{"items": []any{set}},
	})
}

const wrongLine = "spec.tikv.config: not valid TOML in its line 2"

// TestMalformedIsShown: status and list show everything that does not need the configuration.
func TestMalformedIsShown(t *testing.T) {
	for _, c := range []struct{ args, out string }{
		{"status basic", "basic-tikv-0"},
		{"failover basic", "basic-tikv-0"},
		{"list", "basic"},
	} {
		r := malformed(t).call(t, strings.Fields(c.args)...)
		if r.code != 3 || !strings.Contains(r.out, c.out) || !strings.Contains(r.out+r.err, wrongLine) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
	r := malformed(t).call(t, "status", "basic", "-o", "json")
	var got struct {
		Outcome string
		Members []struct{ Name string }
		Gates   []struct{ Observed string }
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 3 {
		t.Fatalf("%+v: %v", r, err)
	}
	if got.Outcome != "blocked" || len(got.Members) != 3+3 || len(got.Gates) != 1 || !strings.Contains(got.Gates[0].Observed, wrongLine) {
		t.Errorf("%+v", got)
	}
}

// TestMalformedIsNotDriven: nothing is written, and the message names the field.
func TestMalformedIsNotDriven(t *testing.T) {
	for _, args := range []string{"sync basic", "scale basic tikv=4", "upgrade basic v8.1.1", "failover basic run", "failover basic recover"} {
		s := malformed(t)
		r := s.call(t, strings.Fields(args)...)
		if r.code != 3 || !strings.Contains(r.err, wrongLine) || !strings.Contains(r.err, "kubectl edit tidbclusters basic -n default") {
			t.Errorf("%s: %+v", args, r)
		}
		for _, asked := range s.asked() {
			if !strings.HasPrefix(asked, "GET ") {
				t.Errorf("%s changed something: %s", args, asked)
			}
		}
	}
	wantError(t, "create", malformed(t).call(t, "create", "basic", "--version", "v8.1.0"), 3, "exists already")
}

// TestMalformedIsCorrected: a manifest that corrects the configuration is not refused because of
// the error that it corrects.
func TestMalformedIsCorrected(t *testing.T) {
	s := malformed(t)
	good := tidbcluster("basic")
	good["spec"].(map[string]any)["paused"] = true // otherwise this test would drive it
	s.answers["PATCH "+tidbclusters+"/basic"] = good
	s.answers["/apis/apps/v1/namespaces/default/statefulsets"] = map[string]any{"items": []any{}}
	file := filepath.Join(t.TempDir(), "basic.yaml")
	manifest, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, manifest, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.call(t, "apply", "-f", file); r.code != 6 || !strings.Contains(r.err, "what is wanted was written") {
		t.Errorf("%+v", r)
	}
}

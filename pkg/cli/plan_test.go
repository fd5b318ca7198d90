package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// planned is a server with a cluster of which nothing has been made.
func planned(t *testing.T) *apiServer {
	t.Helper()
	empty := map[string]any{"items": []any{}}
	const core, apps = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/"
	return serve(t, map[string]any{
		"GET " + tidbclusters:              clusterList(tidbcluster("basic")),
		"GET " + tidbclusters + "/basic":   tidbcluster("basic"),
		"PATCH " + tidbclusters + "/basic": tidbcluster("basic"),
		core + "services":                  empty, core + "configmaps": empty, core + "pods": empty, apps + "statefulsets": empty,
		core + "persistentvolumeclaims": empty,
	})
}

// TestPlan: it shows all steps, ends as a pipeline asks for, and changes nothing.
func TestPlan(t *testing.T) {
	text, err := json.Marshal(tidbcluster("basic"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "basic.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code exit.Code
		says []string
	}{
		{"plan", exit.OK, []string{"cluster default/basic, sync:", "2. PD: create", "create StatefulSet basic-pd", "3. TiKV: create", "claims that are made: 6"}},
		{"plan basic --exit-code", exit.Pending, []string{"3. TiKV: create"}},
		{"plan -f " + file + " --exit-code", exit.Pending, []string{"apply " + file, "3. TiKV: create"}},
		{"plan basic -o yaml", exit.OK, []string{"kind: Plan", "apiVersion: kubectl-tidb/v1", "end: converged"}},
		{"plan basic -o name", exit.OK, []string{"tidbcluster.pingcap.com/basic"}},
		{"sync --dry-run", exit.OK, []string{"3. TiKV: create"}},
	} {
		s := planned(t)
		r := s.call(t, strings.Fields(c.args)...)
		if r.code != int(c.code) {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, r.code, c.code, r.err)
		}
		for _, says := range c.says {
			if !strings.Contains(r.out, says) {
				t.Errorf("%s: %q is not said:\n%s", c.args, says, r.out)
			}
		}
		for _, asked := range s.requests() {
			if !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All") {
				t.Errorf("%s: %s", c.args, asked)
			}
		}
	}
}

// TestPlanJSON: the document has all steps, each with what is done to whom.
func TestPlanJSON(t *testing.T) {
	var d struct {
		Outcome, End string
		Complete     bool
		Phases       []struct {
			Component, Phase string
			Steps            []struct{ Action, Component, Step string }
		}
	}
	if r := planned(t).call(t, "plan", "basic", "-o", "json"); r.code != 0 || json.Unmarshal([]byte(r.out), &d) != nil {
		t.Fatalf("%+v", r)
	}
	var actions []string
	for _, p := range d.Phases {
		for _, s := range p.Steps {
			actions = append(actions, p.Component+" "+s.Action)
		}
	}
	if d.Outcome != "act" || d.End != "converged" || !d.Complete || !slices.Contains(actions, "tikv Apply") {
		t.Errorf("%+v", d)
	}
}

// TestPlanRefused: what is refused is an error, as without a dry run.
func TestPlanRefused(t *testing.T) {
	for args, code := range map[string]exit.Code{
		"plan none": exit.Usage, "plan basic -f basic.yaml": exit.Usage, "plan basic -o xml": exit.Usage, "plan basic --timeout=-1s": exit.Usage,
	} {
		if r := planned(t).call(t, strings.Fields(args)...); r.code != int(code) || r.err == "" {
			t.Errorf("%s: exit code %d, want %d: %q", args, r.code, code, r.err)
		}
	}
}

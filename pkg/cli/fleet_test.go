package cli

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// fleetOf returns a server with these clusters, none of whose members exists.
func fleetOf(t *testing.T, clusters ...map[string]any) *apiServer {
	answers := map[string]any{}
	for _, c := range clusters {
		path := tidbclusters + "/" + c["metadata"].(map[string]any)["name"].(string)
		answers[path], answers["PATCH "+path] = c, c
	}
	answers["GET "+tidbclusters] = clusterList(clusters...)
	return kept(t, "", answers)
}

// written returns the changes that a server was asked for, without dry runs.
func (s *apiServer) written() []string {
	var all []string
	for _, asked := range s.requests() {
		if !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All") && !strings.Contains(asked, "/subjectaccessreviews") {
			all = append(all, asked)
		}
	}
	return all
}

func with(c map[string]any, more map[string]any) map[string]any {
	maps.Copy(c["spec"].(map[string]any), more)
	return c
}

// TestFleetMistakes: what is wrong with the command line is said in one paragraph, and nothing is asked.
func TestFleetMistakes(t *testing.T) {
	s := fleetOf(t, tidbcluster("basic"))
	for args, says := range map[string]string{
		"upgrade --all":                                      "--all needs the version",
		"upgrade --all basic v8.1.1":                         "--all takes no names: leave out basic",
		"upgrade basic v8.1.1 --wave 1,10%,100%":             "--wave goes with --all",
		"upgrade v8.1.1 -l env=prod":                         "--selector goes with --all",
		"upgrade basic v8.1.1 --contexts prod-*":             "--contexts does not go with --server",
		"pause basic other --contexts a":                     "takes all parts of one cluster: leave out other",
		"resume basic --contexts=":                           "needs names or patterns",
		"promote basic --contexts a --wait=false":            "does not go with --wait=false",
		"abort basic --contexts a --wait=false":              "does not go with --wait=false",
		"upgrade v8.1.1 --contexts prod-*":                   "accepts 2 arg(s), received 1",
		"upgrade basic v8.1.1 --stop-on-failure=false":       "--stop-on-failure goes with --all",
		"upgrade --all v8.1.1 --wave=":                       "no wave is given",
		"upgrade --all v8.1.1 --wave 0":                      "at least one cluster",
		"upgrade --all v8.1.1 --wave 1,150%":                 "no more clusters than 100%",
		"upgrade --all v8.1.1 --wave 3,1":                    "1 after 3",
		"upgrade --all v8.1.1 --wave many":                   `"many" is neither a number of clusters`,
		"upgrade --all v8.1.1 --parallel 0":                  "--parallel has to be at least 1",
		"upgrade --all v8.1.1 --wait=false":                  "does not go with --wait=false",
		"upgrade --all v8.1.1 --canary tikv=1":               "--all does not go with --canary",
		"upgrade --all v8.1.1 --expect-uid 1":                "--all does not go with --expect-uid",
		"upgrade --all v8.1.1 -l env=prod=eu":                "--selector",
		"upgrade --all v8.1.1 --contexts a --expect-context": "flag needs an argument",
	} {
		r := s.call(t, strings.Fields(args)...)
		wantError(t, args, r, exit.Usage, says)
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked: %v", asked)
	}
	empty := fleetOf(t)
	wantError(t, "no cluster", empty.call(t, "upgrade", "--all", "v8.1.1", "-l", "env=prod"), exit.Usage, `no TidbCluster has the labels "env=prod" in namespace default, so nothing was changed`)
	wantError(t, "no cluster anywhere", empty.call(t, "upgrade", "--all", "v8.1.1"), exit.Usage, "there is no TidbCluster in namespace default")
}

// TestFleetRefused: one cluster that is refused, or one context that does not answer, keeps all clusters from being
// changed.
func TestFleetRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		b    func() string
		code exit.Code
		says string
	}{
		{"a paused cluster", func() string { return fleetOf(t, with(tidbcluster("basic"), map[string]any{"paused": true})).URL }, exit.Paused,
			"\"upgrade to v8.1.1\" cannot begin in 1 of 3 clusters, so no cluster was changed:\n  b default/basic: cluster default/basic is paused"},
		{"a lower version", func() string { return fleetOf(t, with(tidbcluster("basic"), map[string]any{"version": "v8.5.0"})).URL }, exit.Refused, "  b default/basic: "},
		{"no answer", func() string { return silent(t) }, exit.Failure, "not everything could be read in 1 of 2 contexts: b; nothing was changed"},
		{"no permission", func() string { return refusing(t) }, exit.Forbidden, "not everything could be read in 1 of 2 contexts: b; nothing was changed"},
	} {
		a := fleetOf(t, tidbcluster("basic"), tidbcluster("other"))
		file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": c.b()})
		args := []string{"upgrade", "--all", "v8.1.1", "--kubeconfig", file, "--contexts", "*", "--request-timeout", "1s"}
		r := call(t.Context(), t, append(args, "--yes")...)
		wantError(t, c.name, r, c.code, c.says)
		if got := a.written(); len(got) > 0 {
			t.Errorf("%s: changed %v", c.name, got)
		}
	}
}

// TestFleetEvents: with -o json a refused cluster has its end as an event.
func TestFleetEvents(t *testing.T) {
	a := fleetOf(t, with(tidbcluster("basic"), map[string]any{"paused": true}))
	r := call(t.Context(), t, "upgrade", "--all", "v8.1.1", "--kubeconfig", kubeconfigOf(t, map[string]string{"a": a.URL}), "--contexts", "a", "-o", "json", "--yes")
	var e struct{ Type, Context, Namespace, Cluster, Outcome string }
	if err := json.Unmarshal([]byte(r.out), &e); err != nil || r.code != 6 || e.Type != "done" || e.Context != "a" || e.Namespace != "default" || e.Cluster != "basic" || e.Outcome != "paused" {
		t.Errorf("%v: %+v, %+v", err, e, r)
	}
}

// TestFleetDryRun: a dry run shows which clusters are in which wave.
func TestFleetDryRun(t *testing.T) {
	a, b := fleetOf(t, tidbcluster("other"), tidbcluster("basic")), fleetOf(t, tidbcluster("basic"))
	file := kubeconfigOf(t, map[string]string{"b": b.URL, "a": a.URL})
	args := []string{"upgrade", "--all", "v8.1.1", "--kubeconfig", file, "--contexts", "*"}
	r := call(t.Context(), t, append(args, "--dry-run", "--exit-code")...)
	const want = "WAVE   CONTEXT   NAMESPACE   NAME    VERSION\n" +
		"1      a         default     basic   v8.1.0\n" +
		"2      a         default     other   v8.1.0\n" +
		"2      b         default     basic   v8.1.0\n"
	if r.code != 10 || !strings.HasPrefix(r.out, want) {
		t.Errorf("%+v", r)
	}
	wantError(t, "left out", call(t.Context(), t, append(args, "--dry-run", "--wave", "1,2")...), exit.Usage, `--wave "1,2" leaves out 1 of the clusters`)
	r = call(t.Context(), t, args...) // the answer is empty
	if r.code != 3 || !strings.Contains(r.err, "About to carry out \"upgrade to v8.1.1\" on 3 clusters:\n"+want) || !strings.Contains(r.err, "you have not agreed, so nothing was changed") {
		t.Errorf("%+v", r)
	}
	r = call(t.Context(), t, append(args, "-o", "json")...)
	if r.code != 3 || !strings.Contains(r.err, "since there is no terminal, so nothing was changed") || !strings.Contains(r.err, "--contexts '*' -o json --yes\n") {
		t.Errorf("%+v", r)
	}
	if got := append(a.written(), b.written()...); len(got) > 0 {
		t.Errorf("changed %v", got)
	}
}

// TestFleetParts: the part with PD comes first, and the other part is compared with the version that PD will have.
func TestFleetParts(t *testing.T) {
	part := with(tidbcluster("a-part"), map[string]any{"cluster": map[string]any{"name": "basic"}})
	delete(part["spec"].(map[string]any), "pd")
	s := fleetOf(t, part, tidbcluster("basic"), tidbcluster("other"))
	r := s.call(t, "upgrade", "--all", "v8.1.1", "--dry-run")
	const want = "WAVE   NAMESPACE   NAME     VERSION\n" +
		"1      default     basic    v8.1.0\n" +
		"1      default     a-part   v8.1.0\n" +
		"2      default     other    v8.1.0\n"
	if r.code != 0 || !strings.HasPrefix(r.out, want) {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "upgrade", "--all", "v8.1.1", "--dry-run", "-o", "json"); r.code != 0 || strings.Contains(r.out, "PD is upgraded first") {
		t.Errorf("%+v", r)
	}
	refused := fleetOf(t, part, with(tidbcluster("basic"), map[string]any{"paused": true}))
	wantError(t, "the part with PD is refused", refused.call(t, "upgrade", "--all", "v8.1.1", "--yes"), exit.Refused, "default/a-part: the part with PD, default/basic, is refused itself")
	alone := fleetOf(t, part)
	alone.answers[tidbclusters+"/basic"] = tidbcluster("basic")
	wantError(t, "without the part with PD", alone.call(t, "upgrade", "--all", "v8.1.1", "--yes"), exit.Refused, "PD is upgraded first")
	if got := alone.written(); len(got) > 0 {
		t.Errorf("changed %v", got)
	}
}

// TestFleetOneDatabase: a name and contexts choose all parts of one database, over several Kubernetes clusters.
func TestFleetOneDatabase(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}})
	a, b := fleetOf(t, with(tidbcluster("basic"), across), tidbcluster("other")), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	upgrade := func(file, name string) result {
		return call(t.Context(), t, "upgrade", name, "v8.1.1", "--kubeconfig", file, "--contexts", "*", "--dry-run")
	}
	const want = "WAVE   CONTEXT   NAMESPACE   NAME      VERSION\n" +
		"1      a         default     basic     v8.1.0\n" +
		"1      b         default     basic-2   v8.1.0\n"
	for _, name := range []string{"basic", "basic-2"} {
		if r := upgrade(file, name); r.code != 0 || !strings.HasPrefix(r.out, want) || strings.Contains(r.out, "default     other") || strings.Contains(r.out, "nothing of this part was compared") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	wantError(t, "no such name", upgrade(file, "basic-3"), exit.Usage, `no TidbCluster is named "basic-3" in the namespaces of these contexts`)
	c := fleetOf(t, tidbcluster("basic"))
	file = kubeconfigOf(t, map[string]string{"a": a.URL, "b": c.URL})
	wantError(t, "two databases", upgrade(file, "basic"), exit.Usage, "a default/basic and b default/basic are not parts of one database")
	if got := append(append(a.written(), b.written()...), c.written()...); len(got) > 0 {
		t.Errorf("changed %v", got)
	}
}

// TestFleetVerbs: other commands drive all parts of one database as well. A restart that is asked for again would restart
// all members once more, so that another command goes on.
func TestFleetVerbs(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}})
	a, b := fleetOf(t, with(tidbcluster("basic"), across), tidbcluster("other")), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	for verb, args := range map[string][]string{"sync": nil, "restart": {"tikv", "pd"}} {
		r := call(t.Context(), t, append([]string{verb, "basic", "--kubeconfig", file, "--contexts", "*", "--dry-run"}, args...)...)
		if !strings.HasPrefix(r.out, "WAVE   CONTEXT   NAMESPACE   NAME      VERSION\n1      a         default     basic     v8.1.0\n1      b         default     basic-2   v8.1.0\n") {
			t.Errorf("%s: %+v", verb, r)
		}
	}
	if got := append(a.written(), b.written()...); len(got) > 0 {
		t.Errorf("changed %v", got)
	}
	wantError(t, "a lower version", call(t.Context(), t, "rollback", "basic", "--to", "v8.0.0", "--kubeconfig", file, "--contexts", "*", "--yes"), exit.Refused,
		`"rollback to v8.0.0" cannot begin in 2 of 2 clusters, so no cluster was changed`)
	wantError(t, "no such component", call(t.Context(), t, "restart", "basic", "tiflash", "--kubeconfig", file, "--contexts", "*", "--yes"), exit.Refused, "so no cluster was changed")
	r := call(t.Context(), t, "restart", "basic", "tikv", "--kubeconfig", file, "--contexts", "*", "--timeout", "4s", "--yes")
	if all := strings.Join(a.written(), "\n"); !strings.Contains(all, "PATCH "+tidbclusters+"/basic") || strings.Contains(all, "/other") {
		t.Errorf("changed\n%s", all)
	}
	if r.code == 0 || !strings.Contains(r.err, "go on, when the cause is gone: kubectl tidb sync basic --contexts '*'\n") {
		t.Errorf("%+v", r)
	}
}

// TestFleetCanary: the canary is in the first part that has the members. A canary that holds nothing there is refused, and
// no part is changed.
func TestFleetCanary(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}})
	a, b := fleetOf(t, with(tidbcluster("basic"), across)), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	for canary, says := range map[string]string{
		"tikv=1":    "a default/basic: cluster default/basic: update rejected; nothing was changed: canary tikv=1: no member of TiKV has to be restarted",
		"tikv=3":    "TiKV has 3 members, and at least one has to wait: ask for 2 or fewer",
		"tiflash=1": "the cluster has no TiFlash",
	} {
		r := call(t.Context(), t, "upgrade", "basic", "v8.1.1", "--kubeconfig", file, "--contexts", "*", "--canary", canary, "--yes")
		wantError(t, canary, r, exit.Refused, says)
	}
	if got := append(a.written(), b.written()...); len(got) > 0 {
		t.Errorf("changed %v", got)
	}
}

// TestFleetPromote: a part without a canary goes on with what is under way.
func TestFleetPromote(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}})
	first := with(tidbcluster("basic"), across)
	a, b := fleetOf(t, first), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	of := func(verb string) result {
		return call(t.Context(), t, verb, "basic", "--kubeconfig", file, "--contexts", "*", "--timeout", "4s", "--yes")
	}
	if r := of("promote"); r.code == 0 {
		t.Errorf("no part has converged: %+v", r)
	}
	first["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl-tidb/canary": "tikv=1"}
	// The other part may have been promoted by an earlier command: it goes on, and the command has not succeeded before.
	if r := of("promote"); r.code == 0 || !strings.Contains(r.err, "promote: a default/basic, b default/basic-2\n") || !strings.Contains(a.patches(), `"kubectl-tidb/canary":null`) || strings.Contains(b.patches(), "canary") {
		t.Errorf("%+v\n%s\n%s", r, a.patches(), b.patches())
	}
}

// TestFleetPause: a name and contexts pause and resume all parts of one database, and -l and --all all that they find.
func TestFleetPause(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}})
	a, b := fleetOf(t, with(tidbcluster("basic"), across), tidbcluster("other")), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	of := func(args ...string) result {
		return call(t.Context(), t, append(args, "--kubeconfig", file, "--contexts", "*")...)
	}
	r := of("pause", "basic-2", "--reason", "switches")
	if r.code != 0 || !strings.Contains(r.out, "a default/basic: cluster default/basic is paused") || !strings.Contains(r.out, "b default/basic-2: cluster default/basic-2 is paused") {
		t.Errorf("%+v", r)
	}
	if got := append(a.written(), b.written()...); len(got) != 2 || strings.Contains(strings.Join(got, " "), "/other") {
		t.Errorf("changed %v", got)
	}
	if r := of("pause", "--all", "--dry-run=client"); r.code != 0 || strings.Count(r.out, "would be paused") != 3 {
		t.Errorf("%+v", r)
	}
	if r := of("resume", "basic"); r.code != 0 || strings.Count(r.out, "is not paused; nothing was changed") != 2 {
		t.Errorf("%+v", r)
	}
	wantError(t, "no such name", of("pause", "none"), exit.Usage, `no TidbCluster is named "none"`)
}

// TestFleetOtherComponents: a component is restarted in the parts that have it.
func TestFleetOtherComponents(t *testing.T) {
	across := map[string]any{"acrossK8s": true}
	part := with(with(tidbcluster("basic-2"), across), map[string]any{"cluster": map[string]any{"name": "basic"}, "pd": nil})
	a, b := fleetOf(t, with(tidbcluster("basic"), across)), fleetOf(t, part)
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	r := call(t.Context(), t, "restart", "basic", "pd", "--kubeconfig", file, "--contexts", "*", "--dry-run")
	if r.code != 0 || !strings.Contains(r.out, "\n1               a         default     basic     v8.1.0\nnothing to do   b         default     basic-2   v8.1.0\n") {
		t.Errorf("%+v", r)
	}
}

// TestFleetWaves: only the cluster of the first wave is changed while it is not done. The others are named, with the
// command that goes on.
func TestFleetWaves(t *testing.T) {
	a, b := fleetOf(t, tidbcluster("basic"), tidbcluster("other")), fleetOf(t, tidbcluster("basic"))
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	junit := filepath.Join(t.TempDir(), "junit.xml")
	r := call(t.Context(), t, "upgrade", "--all", "v8.1.1", "--kubeconfig", file, "--contexts", "*", "--timeout", "4s", "--yes", "--report", "junit="+junit)
	changed := strings.Join(a.written(), "\n")
	if !strings.Contains(changed, "PATCH "+tidbclusters+"/basic") || strings.Contains(changed, "PATCH "+tidbclusters+"/other") || len(b.written()) > 0 {
		t.Errorf("changed in a:\n%s\nin b: %v", changed, b.written())
	}
	if r.code == 0 || !strings.Contains(r.err, "2 were not begun: a default/other, b default/basic; go on, when the cause is gone: kubectl tidb upgrade --all v8.1.1 --kubeconfig "+file+" --contexts '*' --timeout 4s --yes --report junit="+junit+"\n") {
		t.Errorf("%+v", r)
	}
	report, err := os.ReadFile(junit)
	if n := strings.Count(string(report), "not begun, because of failures: a default/basic (exit code "); err != nil || n < 2 {
		t.Errorf("%v: the report has %d clusters that were not begun:\n%s", err, n, report)
	}
	if !strings.Contains(r.err, "\na default/basic: ") || !strings.HasPrefix(r.err, "upgrade to v8.1.1, wave 1 of 2: a default/basic\n") {
		t.Errorf("%+v", r)
	}
}

// TestFleetSideBySide: clusters of one wave are changed at the same time, and each event says whose it is.
func TestFleetSideBySide(t *testing.T) {
	a, b := fleetOf(t, tidbcluster("basic")), fleetOf(t, tidbcluster("basic"))
	file := kubeconfigOf(t, map[string]string{"a": a.URL, "b": b.URL})
	r := call(t.Context(), t, "upgrade", "--all", "v8.1.1", "--kubeconfig", file, "--contexts", "*", "--wave", "100%", "--timeout", "3s", "--yes", "-o", "json")
	if len(a.written()) == 0 || len(b.written()) == 0 || r.code == 0 || !strings.Contains(r.err, "2 of 2 clusters failed: a default/basic (exit code ") {
		t.Errorf("changed %v, %v: %+v", a.written(), b.written(), r)
	}
	ends := map[string]int{}
	for line := range strings.Lines(r.out) {
		var e struct{ Type, Context, Cluster, Request string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Context == "" || e.Cluster != "basic" || strings.Contains(e.Request, "wave") {
			t.Errorf("%v: %q", err, line)
		}
		if e.Type == "done" {
			ends[e.Context]++
		}
	}
	if len(ends) != 2 || ends["a"] != 1 || ends["b"] != 1 {
		t.Errorf("ends: %v", ends)
	}
}

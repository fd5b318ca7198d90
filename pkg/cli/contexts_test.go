package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// kubeconfigOf writes a kubeconfig with a context for each server, by its name, which may have a namespace behind a
// slash. It returns the file.
func kubeconfigOf(t *testing.T, servers map[string]string) string {
	t.Helper()
	var clusters, contexts []map[string]any
	for _, key := range slices.Sorted(maps.Keys(servers)) {
		name, namespace, _ := strings.Cut(key, "/")
		clusters = append(clusters, map[string]any{"name": "of-" + name, "cluster": map[string]any{"server": servers[key]}})
		contexts = append(contexts, map[string]any{"name": name, "context": map[string]any{"cluster": "of-" + name, "namespace": namespace}})
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "clusters": clusters, "contexts": contexts})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// silent returns the address of a server that answers nothing before the test ends.
func silent(t *testing.T) string {
	over := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(over); s.Close() })
	return s.URL
}

// refusing returns the address of a server that permits nothing.
func refusing(t *testing.T) string {
	denied := apierrors.NewForbidden(schema.GroupResource{Group: "pingcap.com", Resource: "tidbclusters"}, "", errors.New("no role allows it"))
	return serve(t, map[string]any{tidbclusters: denied, tidbclusters + "/basic": denied}).URL
}

// withBasic returns a server that has the cluster basic.
func withBasic(t *testing.T) *apiServer {
	basic := tidbcluster("basic")
	basic["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Ready"}}}
	return kept(t, "", map[string]any{"GET " + tidbclusters: clusterList(basic), tidbclusters + "/basic": basic})
}

// document is what is common to all lists of -o json.
type document struct {
	Kind  string
	Items []struct{ Kind, Context, Cluster, Ready, Unknown, Error string }
}

// TestContexts: each context has its place in the output. What does not answer, or refuses, is unknown, and the exit
// code says that not all was read.
func TestContexts(t *testing.T) {
	good := withBasic(t)
	file := kubeconfigOf(t, map[string]string{"prod-1": good.URL, "prod-2": refusing(t), "prod-3": silent(t), "staging": "http://127.0.0.1:1"})
	for args, kind := range map[string]string{
		"list": "ClusterSummary", "status basic": "ClusterStatus", "doctor basic": "ClusterFindings", "why basic pd-0": "MemberConditions", "plan basic": "Plan",
	} {
		words := append(strings.Fields(args), "--kubeconfig", file, "--request-timeout", "1s", "--contexts", "prod-*")
		r := call(t.Context(), t, words...)
		first, second, third := strings.Index(r.out, "prod-1"), strings.Index(r.out, "prod-2"), strings.LastIndex(r.out, "\ncontext prod-3")
		if args == "list" {
			third = strings.LastIndex(r.out, "\nprod-3")
		}
		if r.code != 1 || first < 0 || second < first || third < second || strings.Contains(r.out, "staging") ||
			!strings.Contains(r.out, "no role allows it") || !strings.Contains(strings.ToLower(r.out[third:]), "unknown") ||
			strings.Count(r.out[third+1:], "\n") != 1 ||
			r.err != "error: not everything could be read in 2 of 3 contexts: prod-2, prod-3\n" {
			t.Errorf("%s: exit code %d\n%s%s", args, r.code, r.out, r.err)
		}
		r = call(t.Context(), t, append(words, "-o", "json")...)
		var got document
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 1 || got.Kind != kind+"List" || len(got.Items) != 3 {
			t.Fatalf("%s -o json: %v, exit code %d\n%s%s", args, err, r.code, r.out, r.err)
		}
		for i, item := range got.Items {
			if item.Kind != kind || item.Context != fmt.Sprintf("prod-%d", i+1) || (item.Unknown != "") != (i > 0) || item.Error != "" {
				t.Errorf("%s -o json: item %d is %+v", args, i, item)
			}
		}
		if args == "list" && got.Items[1].Ready != "Unknown" {
			t.Errorf("list: %+v", got.Items[1])
		}
	}
	for _, asked := range good.asked() {
		if strings.HasPrefix(asked, "PUT ") || strings.HasPrefix(asked, "DELETE ") {
			t.Errorf("a command that reads has sent %s", asked)
		}
	}
	names := call(t.Context(), t, "list", "--kubeconfig", file, "--request-timeout", "1s", "--contexts", "prod-1,prod-2", "-o", "name")
	if names.code != 9 || names.out != "tidbcluster.pingcap.com/basic\n" || !strings.Contains(names.err, "context prod-2: list tidbclusters") {
		t.Errorf("-o name: %+v", names)
	}
}

// TestContextsAtOnce: contexts are asked at the same time. Each server answers only when all of them were asked.
func TestContextsAtOnce(t *testing.T) {
	const number = 20
	for _, args := range []string{"list", "status basic", "wait basic --for condition=Ready"} {
		var all sync.WaitGroup
		all.Add(number)
		servers := map[string]string{}
		for i := range number {
			behind := withBasic(t)
			var first sync.Once
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				first.Do(all.Done)
				all.Wait()
				behind.answer(w, r)
			}))
			t.Cleanup(s.Close)
			servers[fmt.Sprintf("prod-%02d", i)] = s.URL
		}
		r := call(t.Context(), t, append(strings.Fields(args), "--kubeconfig", kubeconfigOf(t, servers), "--request-timeout", "60s", "--contexts", "*")...)
		if r.code != 0 || strings.Count(r.out, "basic ") < number {
			t.Errorf("%s: %+v", args, r)
		}
	}
}

// TestContextsWithout: a context in which there is no such cluster was read, so it is not unknown.
func TestContextsWithout(t *testing.T) {
	none, unknownKind := kept(t, "", nil), serve(t, nil)
	file := kubeconfigOf(t, map[string]string{"a": withBasic(t).URL, "b": none.URL, "c/elsewhere": unknownKind.URL})
	r := call(t.Context(), t, "list", "--kubeconfig", file, "--contexts", "a,b")
	if r.code != 0 || !strings.Contains(r.out, "a         default     basic   True") || r.err != "context b: No TidbClusters found in namespace default.\n" {
		t.Errorf("list: %+v", r)
	}
	r = call(t.Context(), t, "doctor", "--kubeconfig", file, "--contexts", "b", "-l", "env=prod")
	if r.code != 0 || r.out != "context b: No TidbClusters found.\n" || r.err != "" {
		t.Errorf("doctor: %+v", r)
	}
	r = call(t.Context(), t, "status", "basic", "--kubeconfig", file, "--contexts", "*")
	if r.code != 2 || !strings.Contains(r.out, "\ncontext b: namespace default has no TidbCluster") && !strings.Contains(r.out, "\ncontext b: there is no TidbCluster") || strings.Contains(r.out, "unknown: ") {
		t.Errorf("status: %+v", r)
	}
	r = call(t.Context(), t, "list", "--kubeconfig", file, "--contexts", "c,a")
	if r.code != 3 || !strings.Contains(r.out, "--context c") || strings.Contains(r.err, "unknown") {
		t.Errorf("no definition: %+v", r)
	}
	if asked := unknownKind.asked(); !slices.ContainsFunc(asked, func(a string) bool { return strings.Contains(a, "/namespaces/elsewhere/") }) {
		t.Errorf("the namespace of the context is not used: %v", asked)
	}
}

// TestContextsWait: a wait ends when the cluster is so in all contexts, and each line says of which context it is.
func TestContextsWait(t *testing.T) {
	file := kubeconfigOf(t, map[string]string{"a": withBasic(t).URL, "b": withBasic(t).URL, "c": refusing(t)})
	r := call(t.Context(), t, "wait", "basic", "--for", "condition=Ready", "--kubeconfig", file, "--contexts", "a,b")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	slices.Sort(lines)
	if want := []string{"a: tidbcluster.pingcap.com/basic condition met", "b: tidbcluster.pingcap.com/basic condition met"}; r.code != 0 || !slices.Equal(lines, want) {
		t.Errorf("%+v", r)
	}
	for line := range strings.Lines(r.err) {
		if !strings.HasPrefix(line, "a: ") && !strings.HasPrefix(line, "b: ") {
			t.Errorf("a line without its context: %q", line)
		}
	}
	r = call(t.Context(), t, "wait", "basic", "--for", "condition=Ready", "--kubeconfig", file, "--contexts", "*", "-o", "json")
	if r.code != 9 || strings.Count(r.out, `"outcome":"reached"`) != 2 || !strings.HasPrefix(r.err, "c: error: ") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("%+v", r)
	}
	for line := range strings.Lines(r.out) {
		var e struct{ Context string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Context == "" {
			t.Errorf("%v: %q", err, line)
		}
	}
}

// TestContextsManifest: a manifest is compared with the cluster of its name in each context.
func TestContextsManifest(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "basic.yaml")
	if err := os.WriteFile(manifest, []byte(exampleCluster), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := map[string]string{}
	for _, name := range []string{"a", "b", "c"} {
		servers[name] = kept(t, "", map[string]any{
			tidbclusters + "/basic": tidbcluster("basic"), "PATCH " + tidbclusters + "/basic": tidbcluster("basic"),
		}).URL
	}
	r := call(t.Context(), t, "plan", "-f", manifest, "--kubeconfig", kubeconfigOf(t, servers), "--contexts", "*", "--exit-code")
	if r.code != 10 || strings.Count(r.out, "\ncluster default/basic, apply") != 3 {
		t.Errorf("%+v", r)
	}
}

// TestContextsMistakes: what is wrong with --contexts is found before anything is asked.
func TestContextsMistakes(t *testing.T) {
	s := withBasic(t)
	file := kubeconfigOf(t, map[string]string{"prod-1": s.URL, "prod-2": "https://k.example", "again": s.URL + "/"})
	for args, says := range map[string]string{
		"list --contexts stag*":                              `no context "stag*"; it has again, prod-1, prod-2`,
		"list --contexts prod-1,prod-9":                      `no context "prod-9"; it has`,
		"status --contexts prod-[":                           `"prod-[" is not a pattern`,
		"list --contexts *":                                  "contexts again and prod-1 are of the same Kubernetes cluster",
		"list --contexts=":                                   "needs names or patterns",
		"list --contexts prod-1,":                            "needs names or patterns",
		"list --contexts prod-1 --context prod-2":            "--contexts does not go with --context:",
		"plan --contexts prod-1 --cluster of-prod-2":         "--contexts does not go with --cluster:",
		"why b pd-0 --contexts prod-1 --server http://a":     "--contexts does not go with --server:",
		"doctor --contexts prod-1 --fix":                     "--contexts does not go with --fix:",
		"list --contexts prod-1 -w":                          "--contexts does not go with --watch:",
		"status --contexts prod-1 --watch":                   "--contexts does not go with --watch:",
		"status --contexts prod-1 --for converged":           "--contexts does not go with --for:",
		"wait --for converged --contexts no":                 `no context "no"`,
		"wait --for converged --contexts a --expect-uid u-1": "--contexts does not go with --expect-uid:",
		"plan -f - --contexts prod-1":                        "give a file",
		"scale b tikv=3 --contexts prod-1":                   "unknown flag: --contexts",
		"sync --contexts prod-1":                             "--contexts needs the name of a cluster",
		"sync b --contexts=":                                 "needs names or patterns",
		"upgrade b v8.1.1 --contexts=":                       "needs names or patterns",
		"sync --watch --contexts prod-1":                     "--contexts does not go with --watch:",
		"rollback b --contexts prod-1":                       "--contexts needs --to",
		"restart b tikv-0 --contexts prod-1":                 "it does not go with b-tikv-0",
		"restart b --cancel --contexts prod-1":               "--contexts does not go with --cancel:",
	} {
		r := call(t.Context(), t, append([]string{"--kubeconfig", file}, strings.Fields(args)...)...)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, says) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: exit code %d, want %q: %s%s", args, r.code, says, r.out, r.err)
		}
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("asked: %v", asked)
	}
}

// TestContextsCompletion completes the last name.
func TestContextsCompletion(t *testing.T) {
	file := kubeconfigOf(t, map[string]string{"prod-1": "https://1", "prod-2": "https://2", "other": "https://3"})
	for begin, want := range map[string]string{"": "other prod-1 prod-2 :4", "prod-": "prod-1 prod-2 :4", "prod-1,prod-": "prod-1,prod-2 :4", "x": ":4"} {
		r := call(t.Context(), t, "__complete", "list", "--kubeconfig", file, "--contexts", begin)
		if got := strings.Join(strings.Fields(r.out), " "); r.code != 0 || got != want {
			t.Errorf("%q: %q, want %q", begin, got, want)
		}
	}
}

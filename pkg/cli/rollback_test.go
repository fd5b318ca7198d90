package cli

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/memoryapi"
)

// changedCluster returns a cluster in which a field of the spec was changed by a command, with the
// record of that.
func changedCluster(t *testing.T, action, back string, change func(spec map[string]any)) map[string]any {
	t.Helper()
	tc := tidbcluster("basic")
	change(tc["spec"].(map[string]any))
	text, err := json.Marshal(tc)
	var read v1alpha1.TidbCluster
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	last := topology.LastChange{Action: action, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Back: json.RawMessage(back)}
	tc["metadata"].(map[string]any)["annotations"] = map[string]any{topology.AnnotationLastChange: last.Record(&read)}
	return tc
}

func component(spec map[string]any, name string) map[string]any { return spec[name].(map[string]any) }

// TestRollback: what was recorded is taken back, and everything else is refused with what to do.
func TestRollback(t *testing.T) {
	scaled := func() map[string]any {
		return changedCluster(t, "scale tikv=4", `{"tikv":{"replicas":3}}`, func(spec map[string]any) { component(spec, "tikv")["replicas"] = 4 })
	}
	upgraded := func() map[string]any {
		return changedCluster(t, "upgrade to v8.1.1", `{"version":"v8.1.0"}`, func(spec map[string]any) { spec["version"] = "v8.1.1" })
	}
	meddled := scaled()
	component(meddled["spec"].(map[string]any), "pd")["replicas"] = 5
	for _, c := range []struct {
		name, args string
		cluster    map[string]any
		code       int
		says       string
	}{
		{"dry run", "rollback basic --dry-run=client", scaled(), 0,
			`takes back "scale tikv=4" of 2026-03-01T12:00:00Z: spec.tikv.replicas from 4 to 3`},
		{"dry run, as the API server sees it", "rollback basic --dry-run", scaled(), 0, "rollback of scale tikv=4:"},
		{"abort", "abort basic --dry-run=client", scaled(), 0, "abort of scale tikv=4:"},
		{"an upgrade that may have run", "rollback basic --dry-run=client", upgraded(), 3, "it is not recorded that it was v8.1.0 before"},
		{"to a version that may have run", "rollback basic --to v8.1.0", upgraded(), 3, "data may be in a format that a lower version"},
		{"to a higher version", "rollback basic --to v8.1.2", upgraded(), 2, "go on to that version: kubectl tidb upgrade basic v8.1.2 -n default"},
		{"to no version", "rollback basic --to latest-but-one", upgraded(), 2, "is not a release"},
		{"nothing recorded", "rollback basic", tidbcluster("basic"), 3, "no command has recorded one"},
		{"what to do then", "rollback basic", tidbcluster("basic"), 3, "go back to a version: kubectl tidb rollback basic --to VERSION -n default"},
		{"abort, nothing recorded", "abort basic", tidbcluster("basic"), 3, "stop it for a while: kubectl tidb pause basic -n default; or go back to a version"},
		{"changed since", "rollback basic", meddled, 3, `its spec was changed after "scale tikv=4" of 2026-03-01T12:00:00Z`},
		{"cancel a scale", "scale basic --cancel --dry-run=client", scaled(), 0, "cancel of scale tikv=4:"},
		{"cancel a scale, as the API server sees it", "scale basic --cancel --dry-run", scaled(), 0,
			`takes back "scale tikv=4" of 2026-03-01T12:00:00Z: spec.tikv.replicas from 4 to 3`},
		{"cancel, but it is an upgrade", "scale basic --cancel", upgraded(), 3,
			`the last change is "upgrade to v8.1.1" of 2026-03-01T12:00:00Z; take back the last change, whatever it is: kubectl tidb abort basic -n default`},
		{"cancel, nothing recorded", "scale basic --cancel", tidbcluster("basic"), 3, "no command has recorded one"},
		{"cancel, changed since", "scale basic --cancel", meddled, 3, `its spec was changed after "scale tikv=4"`},
		{"cancel, with numbers", "scale basic tikv=4 --cancel", scaled(), 2, "does not go with tikv=4"},
		{"cancel, no name", "scale --cancel", scaled(), 2, "accepts 1 arg"},
		{"no cluster", "rollback other", scaled(), 2, "there is no TidbCluster"},
		{"no name", "abort", scaled(), 2, "accepts 1 arg"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := kept(t, "", map[string]any{tidbclusters + "/basic": c.cluster, "GET " + tidbclusters: clusterList(c.cluster)})
			s.answers["/api/v1/namespaces/default/persistentvolumeclaims"] = map[string]any{"items": []any{}}
			r := s.call(t, strings.Fields(c.args)...)
			if said := r.out + r.err; r.code != c.code || !strings.Contains(strings.ReplaceAll(said, "--server "+s.URL+" ", ""), c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", r.code, r.out, r.err, c.code, c.says)
			}
			for _, asked := range s.requests() {
				if !strings.HasPrefix(asked, "GET ") && !strings.Contains(asked, "dryRun=All") {
					t.Errorf("changed something: %s", asked)
				}
			}
		})
	}
}

// TestRollbackWhilePaused: a person who has paused a bad change can take it back before the pause ends:
// after it, a driver would go on with the change first.
func TestRollbackWhilePaused(t *testing.T) {
	for _, verb := range []string{"rollback", "abort"} {
		tc := changedCluster(t, "scale tikv=4", `{"tikv":{"replicas":3}}`, func(spec map[string]any) { component(spec, "tikv")["replicas"] = 4 })
		tc["spec"].(map[string]any)["paused"] = true
		body, err := json.Marshal(tc)
		if err != nil {
			t.Fatal(err)
		}
		api := httptest.NewServer(memoryapi.New())
		t.Cleanup(api.Close)
		made, err := api.Client().Post(api.URL+tidbclusters, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = made.Body.Close()
		r := call(t.Context(), t, "--server", api.URL, verb, "basic")
		if says := "what is wanted was written, and nothing else was done; end the pause: kubectl tidb resume basic"; r.code != 6 ||
			!strings.Contains(strings.ReplaceAll(r.err, "--server "+api.URL+" ", ""), says) {
			t.Errorf("%s: exit code %d, stderr %q", verb, r.code, r.err)
		}
		var now v1alpha1.TidbCluster
		got, err := api.Client().Get(api.URL + tidbclusters + "/basic")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(got.Body).Decode(&now)
		_ = got.Body.Close()
		if _, again := now.Annotations[topology.AnnotationLastChange]; err != nil || now.Spec.TiKV.Replicas != 3 || !now.Spec.Paused || again {
			t.Errorf("%s: it has %d replicas, paused: %t, and a record: %t: %v", verb, now.Spec.TiKV.Replicas, now.Spec.Paused, again, err)
		}
	}
}

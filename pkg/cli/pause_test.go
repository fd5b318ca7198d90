package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// pausedCluster returns a cluster whose spec.paused a field manager owns, with the record of a pause.
func pausedCluster(manager, by string, until time.Time) map[string]any {
	tc := tidbcluster("basic")
	tc["spec"].(map[string]any)["paused"] = true
	metadata := tc["metadata"].(map[string]any)
	metadata["annotations"] = map[string]any{"kubectl-tidb/pause": fmt.Sprintf(
		`{"by":%q,"since":"2026-03-01T12:00:00Z","until":%q,"reason":"new switches"}`, by, until.UTC().Format(time.RFC3339))}
	metadata["managedFields"] = []any{map[string]any{
		"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}},
	}}
	return tc
}

// TestPause: a pause is written once, where it changes anything; that of another user or tool is
// neither replaced nor ended without consent.
func TestPause(t *testing.T) {
	me, later, before := lease.Self().Person(), time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	const ours = "kubectl-tidb-pause"
	deleting := tidbcluster("basic")
	deleting["metadata"].(map[string]any)["deletionTimestamp"] = "2026-03-01T12:00:00Z"
	for _, c := range []struct {
		name, args string
		cluster    map[string]any
		code       int
		writes     int
		says       string // on stdout where it succeeds
	}{
		{"new", "pause basic --for 2h --reason switches", tidbcluster("basic"), 0, 1, "cluster default/basic is paused by " + me + " since "},
		{"new, without end", "pause basic", tidbcluster("basic"), 0, 1, "cluster default/basic is paused by " + me},
		{"again", "pause basic", pausedCluster(ours, me, later), 0, 0, ": new switches; nothing was changed"},
		{"longer", "pause basic --for 9h", pausedCluster(ours, me, later), 0, 1, "; it was paused by " + me + " since 2026-03-01T12:00:00Z until"},
		{"another's stays", "pause basic", pausedCluster(ours, "bob@desk", later), 0, 0, "paused by bob@desk"},
		{"another's, longer", "pause basic --for 9h", pausedCluster(ours, "bob@desk", later), 3, 0, "it is paused by bob@desk"},
		{"another's, longer, agreed", "pause basic --for 9h --yes", pausedCluster(ours, "bob@desk", later), 0, 1, "it was paused by bob@desk"},
		{"another's, over", "pause basic --for 9h", pausedCluster(ours, "bob@desk", before), 0, 1, "is paused by " + me},
		{"a tool's, with a time", "pause basic --for 9h --yes", pausedCluster("argocd", "bob@desk", later), 3, 0, "was set by argocd"},
		{"being deleted", "pause basic", deleting, 3, 0, "is being deleted"},
		{"what would be", "pause basic --dry-run=client", tidbcluster("basic"), 0, 0, "would be paused by " + me},
		{"what the server says", "pause basic --dry-run", tidbcluster("basic"), 0, 1, "(server dry run)"},
		{"resume", "resume basic", pausedCluster(ours, me, later), 0, 1, "cluster default/basic goes on; it was paused by " + me},
		{"resume, another's", "resume basic", pausedCluster(ours, "bob@desk", later), 3, 0, "it is paused by bob@desk"},
		{"resume, another's, agreed", "resume basic -y", pausedCluster(ours, "bob@desk", later), 0, 1, "goes on; it was paused by bob@desk"},
		{"resume, another's, over", "resume basic", pausedCluster(ours, "bob@desk", before), 0, 1, "goes on"},
		{"resume, a tool's", "resume basic", pausedCluster("argocd", me, later), 3, 0, "was set by argocd"},
		{"resume, what would be", "resume basic --dry-run=client", pausedCluster("argocd", me, later), 0, 0, "would go on; it is paused"},
		{"resume, not paused", "resume basic", tidbcluster("basic"), 0, 0, "is not paused; nothing was changed"},
		{"resume all", "resume --all", tidbcluster("basic"), 0, 0, "is not paused; nothing was changed"},
		{"no time", "pause basic --for 0s", tidbcluster("basic"), 2, 0, "--for has to be"},
		{"two lines", "pause basic --reason a\nb", tidbcluster("basic"), 2, 0, "one line of text"},
		{"too long", "pause basic --reason " + strings.Repeat("x", 201), tidbcluster("basic"), 2, 0, "at most 200 bytes"},
		{"none", "pause", tidbcluster("basic"), 2, 0, "name the clusters, or give -l or --all"},
		{"missing", "pause other", tidbcluster("basic"), 2, 0, "there is no TidbCluster"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, map[string]any{
				tidbclusters: clusterList(c.cluster), tidbclusters + "/basic": c.cluster, "PATCH " + tidbclusters + "/basic": c.cluster,
			})
			r := s.call(t, strings.Split(c.args, " ")...)
			said := r.out
			if c.code != 0 {
				said = r.err
			}
			if r.code != c.code || !strings.Contains(said, c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", r.code, r.out, r.err, c.code, c.says)
			}
			writes := 0
			for _, asked := range s.requests() {
				if strings.HasPrefix(asked, "PATCH ") {
					writes++
				}
				if strings.HasPrefix(c.args, "pause") && strings.HasPrefix(asked, "PATCH ") && !strings.Contains(asked, "fieldManager="+ours) {
					t.Errorf("the record does not count: %s", asked)
				}
			}
			if writes != c.writes {
				t.Errorf("wrote %d times, want %d", writes, c.writes)
			}
		})
	}
}

// TestPauseNamesWhatWasBegun: a pause in the middle of an eviction says so, as "pause" on a paused cluster does. Where
// the records cannot be read, the cluster is paused all the same, and that is said.
func TestPauseNamesWhatWasBegun(t *testing.T) {
	const records = coreV1 + "configmaps/basic-ledger"
	book := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "basic-ledger", "namespace": "default"}, "data": map[string]any{
		"evict-leader.5": `{"member":"basic-tikv-1","since":"2026-03-01T12:00:00Z"}`, "remove-store.6": `{"member":"basic-tikv-3","since":"2026-03-01T11:00:00Z"}`,
		"evict-leader.7": `{"member":"basic-tikv-2","since":"2026-03-01T12:00:00Z","ended":"2026-03-01T12:01:00Z"}`,
	}}
	no := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "basic-ledger", errors.New("no"))
	paused := pausedCluster("kubectl-tidb-pause", lease.Self().Person(), time.Now().Add(time.Hour))
	upgraded := tidbcluster("basic")
	upgraded["metadata"].(map[string]any)["annotations"] = topology.DDLPause{From: "v8.1.0", To: "v8.5.0"}.Annotations()
	for name, c := range map[string]struct {
		cluster, book any
		says          []string
	}{
		"DDL is paused":       {upgraded, nil, []string{"TiDB: DDL statements of users wait", "for an upgrade of TiDB from v8.1.0 to v8.5.0", "kubectl tidb resume basic"}},
		"it is paused":        {tidbcluster("basic"), book, []string{"basic-tikv-1: PD was asked at 2026-03-01T12:00:00Z to keep region leaders off store 5", "basic-tikv-3: PD was asked at 2026-03-01T11:00:00Z"}},
		"it was paused":       {paused, book, []string{"evict-leader basic basic-tikv-1 --stop", "kubectl tidb resume basic"}},
		"it cannot be read":   {tidbcluster("basic"), no, []string{"is not known: read configmap basic-ledger"}},
		"nothing was done":    {tidbcluster("basic"), nil, nil},
		"nothing is recorded": {tidbcluster("basic"), map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]any{tidbclusters + "/basic": c.cluster, "PATCH " + tidbclusters + "/basic": c.cluster}
			if c.book != nil {
				answers[records] = c.book
			}
			r := serve(t, answers).call(t, "pause", "basic")
			if r.code != 0 || (r.err == "") != (len(c.says) == 0) || strings.Contains(r.err, "store 7") {
				t.Errorf("exit code %d, %q", r.code, r.err)
			}
			for _, text := range c.says {
				if !strings.Contains(r.err, text) {
					t.Errorf("%q does not say %q", r.err, text)
				}
			}
		})
	}
}

// TestPauseHint: what ends a pause is said with a command for this context.
func TestPauseHint(t *testing.T) {
	tc := tidbcluster("basic")
	s := serve(t, map[string]any{tidbclusters + "/basic": tc, "PATCH " + tidbclusters + "/basic": tc})
	r := call(t.Context(), t, "--kubeconfig", kubeconfigFor(t, s, "prod"), "pause", "basic", "--for", "1h")
	if r.code != 0 || r.err != "a daemon ends the pause at that time; where none runs, the next command does, such as: kubectl tidb sync basic -n default --context prod\n" {
		t.Errorf("%+v", r)
	}
}

// TestPauseOver: a command that drives ends a pause whose time is over before anything else. A dry
// run only says so.
func TestPauseOver(t *testing.T) {
	over := pausedCluster("kubectl-tidb-pause", "bob@desk", time.Now().Add(-time.Hour))
	s := kept(t, "", map[string]any{tidbclusters + "/basic": over})
	r := s.call(t, "sync", "basic", "--dry-run")
	if r.code != 0 || !strings.Contains(r.out, "note: paused by bob@desk") || !strings.Contains(r.out, "the pause would end") {
		t.Errorf("%+v", r)
	}
	for _, asked := range s.asked() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Error(asked)
		}
	}
	no := apierrors.NewForbidden(schema.GroupResource{Group: "pingcap.com", Resource: "tidbclusters"}, "basic", errors.New("no"))
	s = kept(t, "", map[string]any{tidbclusters + "/basic": over, "PATCH " + tidbclusters + "/basic": no})
	if r := s.call(t, "sync", "basic", "--yes"); r.code != int(exit.Forbidden) || !slices.Contains(s.asked(), "PATCH "+tidbclusters+"/basic") {
		t.Errorf("the pause was not to be ended: %+v, %q", r, s.asked())
	}
}

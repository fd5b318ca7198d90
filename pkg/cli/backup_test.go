package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRequireBackup: without a backup that is new enough an upgrade changes nothing, and says why and
// what to do. One that changes nothing in the spec needs none.
func TestRequireBackup(t *testing.T) {
	const all, own = "/apis/pingcap.com/v1alpha1/backups", "/apis/pingcap.com/v1alpha1/namespaces/default/backups"
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "pingcap.com", Resource: "backups"}, "", errors.New("no"))
	list := func(items ...any) map[string]any {
		return map[string]any{"apiVersion": "pingcap.com/v1alpha1", "kind": "BackupList", "items": items}
	}
	made := func(mode string, ago time.Duration) map[string]any {
		at := time.Now().Add(-ago).UTC().Format(time.RFC3339)
		return map[string]any{
			"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "default", "name": mode},
			"spec": map[string]any{"backupMode": mode, "br": map[string]any{"cluster": "basic"}},
			"status": map[string]any{
				"timeStarted": at, "timeCompleted": at, "conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": at}},
			},
		}
	}
	const day = 24 * time.Hour
	for _, c := range []struct {
		name, args string
		backups    map[string]any
		code       int
		says       string
	}{
		{"new enough", "v8.1.1 --dry-run=client", map[string]any{all: list(made("snapshot", time.Hour))}, 0, "upgrade to v8.1.1"},
		{"too old", "v8.1.1", map[string]any{all: list(made("snapshot", 2*day))}, 3,
			"cluster default/basic has no full backup that is complete and newer than 24h0m0s: the newest is default/snapshot, with the data of "},
		{"what to do", "v8.1.1", map[string]any{all: list(made("snapshot", 2*day))}, 3,
			"(2d ago); nothing was changed; see the backups: kubectl get backups.pingcap.com -A; or make a backup, and run the same command again; " +
				"or to upgrade without one, leave out --require-backup-newer-than"},
		{"too old, without a change", "v8.1.1 --dry-run", map[string]any{all: list(made("snapshot", 2*day))}, 3, "the newest is default/snapshot"},
		{"as JSON", "v8.1.1 -o json", map[string]any{all: list(made("snapshot", 2*day))}, 3, `"outcome":"blocked"`},
		{"a log backup only", "v8.1.1", map[string]any{all: list(made("log", time.Hour))}, 3, "none counts: default/log is a log backup"},
		{"none", "v8.1.1", map[string]any{all: list()}, 3, "newer than 24h0m0s: it has none; nothing was changed"},
		{"one that cannot be read", "v8.1.1", map[string]any{all: list(map[string]any{
			"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "default", "name": "x"}, "spec": "?",
		})}, 3, "it has none; default/x cannot be read: "},
		{"one namespace only", "v8.1.1", map[string]any{all: forbidden, own: list()}, 3,
			"it has none; only namespace default may be looked in; nothing was changed; see the backups: kubectl get backups.pingcap.com -n default"},
		{"in this one it is", "v8.1.1 --dry-run=client", map[string]any{all: forbidden, own: list(made("snapshot", time.Hour))}, 0, "upgrade to v8.1.1"},
		{"no right", "v8.1.1", map[string]any{all: forbidden, own: forbidden}, 9,
			"whether cluster default/basic has a backup may not be read, so nothing was changed: list backups in namespace default: "},
		{"no definition", "v8.1.1", map[string]any{}, 3,
			"whether cluster default/basic has a backup cannot be checked: this Kubernetes cluster does not know Backups, which tidb-operator makes; nothing was changed"},
		{"no API server", "v8.1.1", map[string]any{all: apierrors.NewInternalError(errors.New("broken"))}, 1, "list backups in namespace default: "},
		{"it has that version", "v8.1.0 --dry-run=client", map[string]any{all: list()}, 0, "upgrade to v8.1.0"},
		{"a version that is refused", "v8.1", map[string]any{all: list()}, 2, "did you mean v8.1.0?"},
		{"no age", "v8.1.1 --require-backup-newer-than 0", map[string]any{all: list()}, 2, "--require-backup-newer-than has to be more than zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := tidbcluster("basic")
			answers := map[string]any{tidbclusters + "/basic": cluster, "GET " + tidbclusters: clusterList(cluster)}
			for path, answer := range c.backups {
				answers[path] = answer
			}
			s := kept(t, "", answers)
			args := append([]string{"upgrade", "basic", "--require-backup-newer-than", "24h"}, strings.Fields(c.args)...)
			r := s.call(t, args...)
			if said := r.out + r.err; r.code != c.code || !strings.Contains(strings.ReplaceAll(said, "--server "+s.URL+" ", ""), c.says) {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q", r.code, r.out, r.err, c.code, c.says)
			}
			for _, asked := range s.requests() {
				if !strings.HasPrefix(asked, "GET ") {
					t.Errorf("changed something: %s", asked)
				}
			}
			looked := slices.ContainsFunc(s.requests(), func(r string) bool { return strings.Contains(r, "/backups") })
			if needless := c.name == "it has that version" || c.code == 2; looked == needless {
				t.Errorf("looked for backups: %t", looked)
			}
		})
	}
}

package cli

import (
	"strings"
	"testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
)

// TestBackups: all backups of a cluster are shown, with the newest data first, also backups of tidb-operator.
func TestBackups(t *testing.T) {
	const path = "/apis/pingcap.com/v1alpha1/namespaces/default/backups"
	made := func(name, cluster, ts, phase string) map[string]any {
		return map[string]any{
			"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "default", "name": name},
			"spec": map[string]any{"br": map[string]any{"cluster": cluster, "db": "app"}, "toolImage": "pingcap/br:v8.1.0"},
			"status": map[string]any{
				"phase": phase, "commitTs": ts, "backupSize": 7235, "backupPath": "s3://b/" + name, "timeCompleted": "2026-03-10T02:16:00Z",
				"conditions": []any{map[string]any{"type": phase, "status": "True", "reason": "R", "message": "why", "lastTransitionTime": nil}},
			},
		}
	}
	all := map[string]any{"apiVersion": "pingcap.com/v1alpha1", "kind": "BackupList", "items": []any{
		made("old", "basic", "464000000000000000", "Complete"), made("new", "basic", "464770000000000000", "Failed"), made("other", "else", "464000000000000000", "Complete"),
	}}
	s := serve(t, map[string]any{path: all, tidbclusters: clusterList()})
	r := s.call(t, "backup", "list", "basic")
	fresh, old := strings.Index(r.out, "s3://b/new"), strings.Index(r.out, "s3://b/old")
	if r.code != 0 || fresh < 0 || old < fresh || strings.Contains(r.out, "other") || !strings.Contains(r.out, "database app") || !strings.Contains(r.out, "7.2 kB") {
		t.Errorf("%+v", r)
	}
	if r = s.call(t, "backup", "list"); r.code != 0 || !strings.Contains(r.out, "other") {
		t.Errorf("%+v", r)
	}
	if r = s.call(t, "backup", "list", "-o", "name"); r.out != "backup.pingcap.com/new\nbackup.pingcap.com/old\nbackup.pingcap.com/other\n" {
		t.Errorf("%+v", r)
	}
	r = s.call(t, "backup", "show", "new")
	for _, want := range []string{"Status:    Failed", "7.2 kB (7235 bytes)", "pingcap/br:v8.1.0", "s3://b/new", "2026-03-10T02:16:00Z", "464770000000000000", "Reason:    R: why"} {
		if r.code != 0 || !strings.Contains(r.out, want) {
			t.Errorf("no %q: %+v", want, r)
		}
	}
	if r = s.call(t, "backup", "show", "old", "-o", "jsonpath={.sizeBytes} {.cluster}"); r.out != "7235 basic" {
		t.Errorf("%+v", r)
	}
	wantError(t, "show", s.call(t, "backup", "show", "none"), exit.Usage, "there is no backup none in namespace default; see those that are there: kubectl tidb backup list -n default")
	if r = serve(t, map[string]any{path: map[string]any{"apiVersion": "pingcap.com/v1alpha1", "kind": "BackupList", "items": []any{}}, tidbclusters: clusterList()}).call(t, "backup", "list", "basic"); r.code != 0 || !strings.Contains(r.err, "there are no backups in namespace default") {
		t.Errorf("%+v", r)
	}
}

// TestScheduleWithoutTimes: flags that make a schedule are refused where no times are given. The schedules would be shown,
// as if the schedule had been changed.
func TestScheduleWithoutTimes(t *testing.T) {
	s := serve(t, map[string]any{
		tidbclusters: clusterList(tidbcluster("basic")), tidbclusters + "/basic": tidbcluster("basic"),
		"/apis/batch/v1/namespaces/default/cronjobs": map[string]any{"apiVersion": "batch/v1", "kind": "CronJobList", "items": []any{}},
	})
	for _, flag := range []string{"--keep-last=3", "--suspend", "--in=s3://b/p", "--dry-run", "--manifest"} {
		wantError(t, flag, s.call(t, "backup", "schedule", "basic", flag), exit.Usage, "is for a schedule that is made or changed: give CRON as well")
	}
	if r := s.call(t, "backup", "schedule", "basic", "-o", "json"); r.code != 0 || !strings.Contains(r.out, `"kind": "BackupScheduleSummaryList"`) {
		t.Errorf("%+v", r)
	}
	if r := s.call(t, "backup", "schedule", "basic"); r.code != 0 || !strings.Contains(r.err, "cluster default/basic has no schedule of backups") {
		t.Errorf("%+v", r)
	}
}

// TestBackupInput: a wrong command line of "backup" changes nothing, and shows no password.
func TestBackupInput(t *testing.T) {
	s := serve(t, map[string]any{tidbclusters: clusterList(tidbcluster("basic")), tidbclusters + "/basic": tidbcluster("basic")})
	for args, says := range map[string]string{
		"basic":                                             "say where the backup is to be, with --to for a new prefix or --in",
		"basic --to s3://b/p --in s3://b":                   "with --to for a new prefix or --in for a new folder of a prefix",
		"basic --in s3://b":                                 "--in: s3://b has no prefix",
		"basic --in s3://b/p --run a/b":                     `--run "a/b" is no name for a run`,
		"basic --to s3://b/p --run a":                       "--run goes with --in only",
		"basic --in s3://b/p --deadline 1ms":                "--deadline is 1ms, and has to be at least a second",
		"--to s3://b/p":                                     "accepts 1 arg",
		"basic --to ftp://h/p":                              "--to: ftp://h/p is not of a kind that is known: only s3:// is",
		"basic --to s3://b/p?access-key=HIDE":               "--to: s3://b/p has credentials in parameter access-key",
		"basic --to s3://b/p --db a --table a.b":            "--db does not go with --table",
		"basic --to s3://b/p --table users":                 `"users" is not DATABASE.TABLE`,
		"basic --to s3://b/p --timeout -1s":                 "--timeout must not be negative",
		"basic --to s3://b/p --rate-limit -1":               "rate-limit",
		"basik --to s3://b/p --from-secret s3":              "did you mean basic?",
		"basic --to s3://b/p":                               "give a Secret with --from-secret",
		"basic --to s3://b/p --from-secret s3 --dry-run=no": `must be "none", "client" or "server"`,
	} {
		for _, verb := range []string{"backup", "backup create"} {
			r := s.call(t, append(strings.Fields(verb), strings.Fields(args)...)...)
			wantError(t, verb+" "+args, r, exit.Usage, says)
			if strings.Contains(r.err, "HIDE") {
				t.Errorf("a password is shown: %s", r.err)
			}
		}
	}
	for _, asked := range s.asked() {
		if !strings.HasPrefix(asked, "GET ") {
			t.Errorf("changed something: %s", asked)
		}
	}
}

package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// restores has the backups of TestBackup restored into their cluster.
func (s environment) restores(t *testing.T) {
	before := s.settingsOfPD(t)
	t.Run("what is there is not overwritten", func(t *testing.T) {
		for _, c := range []struct {
			table string
			scope []string
		}{{"app.later", nil}, {"app.later", []string{"--db", "app"}}, {"app.users", []string{"--table", "app.users"}}} {
			r := s.tidb(t, 3, append([]string{"restore", cluster, "--from", s.at("first"), "--from-secret", "s3"}, c.scope...)...)
			if !strings.Contains(r.Stderr, "has table "+c.table+" already") {
				s.errorf(t, "%v: stderr %s", c.scope, r.Stderr)
			}
		}
		s.tidb(t, 2, "restore", cluster, "--from", "none")
		s.tidb(t, 3, "restore", cluster, "--cancel")
		s.wantNothingLeft(t, before)
	})
	s.rows(t, "DROP DATABASE app")
	t.Run("nothing there", func(t *testing.T) {
		r := s.tidb(t, 3, "restore", cluster, "--from", s.at("nothing"), "--from-secret", "s3")
		if !strings.Contains(r.Stderr, "no complete backup can be read there") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		r = s.tidb(t, 3, "restore", cluster, "--from", s.at("first"), "--from-secret", "s3", "--db", "none")
		if !strings.Contains(r.Stderr, "nothing was restored: the backup does not have database none") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		s.wantNothingLeft(t, before)
	})
	t.Run("a restore that is killed leaves no settings behind", func(t *testing.T) {
		release := s.holdPods(t)
		first := s.plugin.Start(t.Context(), "restore", cluster, "--from", s.at("first"), "--from-secret", "s3")
		defer first.Close()
		poll(t, patience, "the settings of PD are recorded, and the Job exists", func(ctx context.Context) bool {
			return strings.Contains(s.settingsRecorded(t), "balance-region-scheduler") && s.backupJobs(ctx, t) == 1
		})
		first.Close()
		client := s.pdClient()
		defer client.Close()
		if err := client.SetScheduleNumbers(t.Context(), map[string]float64{"region-schedule-limit": 40, "max-merge-region-size": 0}); err != nil {
			t.Fatal(err)
		}
		r := s.tidb(t, 3, "restore", cluster, "--from", s.at("table"), "--from-secret", "s3")
		if !strings.Contains(r.Stderr, "has a restore under way already") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		r = s.tidb(t, 0, "restore", cluster, "--cancel")
		release()
		if !strings.Contains(r.Stderr, "max-merge-region-size=20, region-schedule-limit=2048") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		s.wantNothingLeft(t, before)
	})
	t.Run("from a Backup", func(t *testing.T) {
		names, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "get", "backups.pingcap.com", "-o",
			`jsonpath={.items[?(@.status.backupPath=="s3://`+s3Bucket+`/first")].metadata.name}`)
		if err != nil {
			t.Fatal(err)
		}
		r := s.tidb(t, 0, "restore", cluster, "--from", names)
		if !strings.Contains(r.Stdout, "has all data of the backup as of ") {
			s.errorf(t, "stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		s.wantUsers(t)
		s.wantNothingLeft(t, before)
	})
	t.Run("one table", func(t *testing.T) {
		s.rows(t, "DROP TABLE app.users")
		s.tidb(t, 0, "restore", cluster, "--from", s.at("table"), "--from-secret", "s3", "--table", "app.users", "-o", "json")
		s.wantUsers(t)
		s.wantNothingLeft(t, before)
	})
	// The last one, because TiDB waits about a minute for a BR that carried out its DDL statements.
	t.Run("BR is killed", func(t *testing.T) {
		for attempt := 1; !s.killsBR(t, before); attempt++ {
			if attempt == attempts {
				t.Fatalf("BR has ended before it was killed, %d times", attempts)
			}
		}
		s.wantNothingLeft(t, before)
	})
}

// attempts is how often BR may be faster than the test.
const attempts = 5

// killsBR kills BR as soon as PD lacks a scheduler, and reports whether BR had not ended before.
func (s environment) killsBR(t *testing.T, before *pd.ScheduleSettings) bool {
	t.Helper()
	s.rows(t, "DROP DATABASE IF EXISTS app")
	run := s.plugin.Start(t.Context(), "restore", cluster, "--from", s.at("first"), "--from-secret", "s3")
	defer run.Close()
	client := s.pdClient()
	defer client.Close()
	poll(t, patience, "BR has removed a scheduler of PD", func(ctx context.Context) bool {
		now, err := client.ScheduleSettings(ctx)
		return err == nil && len(now.Schedulers) < len(before.Schedulers)
	})
	now := int64(0)
	pods := s.Kube.CoreV1().Pods(s.plugin.Namespace)
	err := pods.DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{LabelSelector: backup.LabelRestore})
	if err != nil {
		t.Fatal(err)
	}
	code := run.Wait()
	if code == 0 {
		return false
	}
	t.Logf("exit code %d, stderr %s", code, run.Stderr())
	if !strings.Contains(run.Stderr(), "put back in PD, where BR has changed it: balance-") {
		t.Error("PD's settings are not put back")
	}
	return true
}

// wantUsers asserts that all rows are there, also by the index.
func (s environment) wantUsers(t *testing.T) {
	t.Helper()
	db, err := s.sql.Open(s.plugin.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, named int
	err = db.QueryRowContext(t.Context(), "SELECT COUNT(*), (SELECT COUNT(*) FROM app.users USE INDEX (name) WHERE name LIKE 'user 9%') FROM app.users").Scan(&rows, &named)
	if err != nil || rows != 100 || named != 11 {
		s.errorf(t, "%d rows, %d of them by the index, %v", rows, named, err)
	}
}

// settingsRecorded returns what the TidbCluster records of PD's settings.
func (s environment) settingsRecorded(t *testing.T) string {
	t.Helper()
	tc, err := s.clusters().Get(t.Context(), cluster, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tc.GetAnnotations()[topology.AnnotationRestore]
}

func (s environment) settingsOfPD(t *testing.T) *pd.ScheduleSettings {
	t.Helper()
	client := s.pdClient()
	defer client.Close()
	is, err := client.ScheduleSettings(t.Context(), backup.Changed...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(is.Schedulers)
	return is
}

// wantNothingLeft asserts that PD has the settings from before, and that no Job and no record is left. The safepoint of BR,
// which BR does not name, stays for five minutes.
func (s environment) wantNothingLeft(t *testing.T, before *pd.ScheduleSettings) {
	t.Helper()
	if now := s.settingsOfPD(t); !slices.Equal(now.Schedulers, before.Schedulers) || !maps.Equal(now.Numbers, before.Numbers) {
		s.errorf(t, "PD has %+v, and had %+v", now, before)
	}
	if text := s.settingsRecorded(t); text != "" {
		s.errorf(t, "the TidbCluster records %s", text)
	}
	s.wantBackups(t, 2)
}

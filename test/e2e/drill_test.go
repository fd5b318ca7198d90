package e2e

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// drills has a backup of TestBackup restored into a cluster of its own, and its rows compared.
func (s environment) drills(t *testing.T) {
	name := strings.TrimSpace(s.tidb(t, 0, "backup", "list", cluster, "-o", `jsonpath={.items[?(@.scope=="all data")].metadata.name}`).Stdout)
	t.Run("a drill", func(t *testing.T) {
		s.rows(t, "INSERT INTO app.users VALUES (1000, 'later than the backup')", "CREATE TABLE app.later (id INT)")
		if r := s.tidb(t, 0, "backup", "drill", cluster, "--dry-run"); !strings.Contains(r.Stdout, name) || !strings.Contains(r.Stdout, "with PD 1, TiKV 1 and TiDB 1") {
			s.errorf(t, "%s", r.Stdout)
		}
		r := s.tidb(t, 0, "backup", "drill", cluster)
		if !strings.Contains(r.Stdout, name+" was restored, and has all rows that ") || !strings.Contains(r.Stdout, ": 100 rows in 1 table") {
			s.errorf(t, "stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		if r := s.tidb(t, 0, "backup", "show", name, "-o", "jsonpath={.drilled}"); !strings.HasPrefix(r.Stdout, "20") {
			s.errorf(t, "drilled is %s", r.Stdout)
		}
		s.tidb(t, 0, "upgrade", cluster, to, "--require-drilled-backup-newer-than", "1h", "--dry-run=client")
		s.wantNoDrill(t)
	})
	t.Run("a drill finds what is missing", func(t *testing.T) {
		later := s.tidb(t, 0, "sql", cluster, "-e", "BEGIN; SELECT @@tidb_current_ts AS ts", "-o", "csv")
		fields := strings.Fields(later.Stdout)
		patch := `{"status":{"commitTs":"` + fields[len(fields)-1] + `"}}`
		if _, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "patch", "backups.pingcap.com", name, "--type", "merge", "-p", patch); err != nil {
			t.Fatal(err)
		}
		r := s.tidb(t, 1, "backup", "drill", cluster, "--backup", name)
		if !strings.Contains(r.Stderr, "table app.later was not restored; table app.users had 101 rows, and 100 were restored") {
			s.errorf(t, "stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		if r := s.tidb(t, 0, "backup", "show", name, "-o", "jsonpath={.drilled}"); r.Stdout != "" {
			s.errorf(t, "drilled is %s", r.Stdout)
		}
		s.tidb(t, 3, "upgrade", cluster, to, "--require-drilled-backup-newer-than", "1h", "--dry-run=client")
		s.wantNoDrill(t)
	})
	t.Run("a drill that is killed", func(t *testing.T) {
		s.tidb(t, 3, "backup", "drill", cluster, "--cancel")
		first := s.plugin.Start(t.Context(), "backup", "drill", cluster)
		defer first.Close()
		poll(t, patience, "the drill has made a cluster", func(ctx context.Context) bool {
			_, err := s.clusters().Get(ctx, backup.DrillName(cluster), metav1.GetOptions{})
			return err == nil
		})
		first.Close()
		r := s.tidb(t, 3, "backup", "drill", cluster)
		if !strings.Contains(r.Stderr, "a drill is under way, or was left") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		s.tidb(t, 0, "backup", "drill", cluster, "--cancel")
		s.wantNoDrill(t)
	})
}

// wantNoDrill asserts that nothing of a drill is left.
func (s environment) wantNoDrill(t *testing.T) {
	t.Helper()
	of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + backup.DrillName(cluster)}
	claims, err := s.Kube.CoreV1().PersistentVolumeClaims(s.plugin.Namespace).List(t.Context(), of)
	if err != nil || len(claims.Items) > 0 {
		s.errorf(t, "%d claims, %v", len(claims.Items), err)
	}
	all, err := s.clusters().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		s.errorf(t, "%d TidbClusters, %v", len(all.Items), err)
	}
	secrets, err := s.Kube.CoreV1().Secrets(s.plugin.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range secrets.Items {
		if strings.HasPrefix(one.Name, backup.DrillName(cluster)) {
			s.errorf(t, "secret %s is left", one.Name)
		}
	}
}

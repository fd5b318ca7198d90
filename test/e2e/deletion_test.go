package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deletes has backups of TestBackup deleted. BR writes only where no file of another backup is, so that a new backup at the
// same place shows that the files are gone.
func (s environment) deletes(t *testing.T) {
	at := func(place string) string {
		r := s.tidb(t, 0, "backup", cluster, "--to", s.at(place), "--from-secret", "s3", "-o", "json")
		var made struct{ Name string }
		if err := json.Unmarshal([]byte(r.Stdout), &made); err != nil {
			t.Fatal(err)
		}
		return made.Name
	}
	refused := func(t *testing.T, name, says string) {
		t.Helper()
		if r := s.tidb(t, 3, "backup", "delete", name, "--files", "--yes"); !strings.Contains(r.Stderr, says) {
			s.errorf(t, "stderr %s", r.Stderr)
		}
	}
	outer, inner := at("outer"), at("outer/inner")
	var again string
	t.Run("files of another backup stay", func(t *testing.T) {
		refused(t, outer, "it has a place that overlaps with the place of backup "+s.plugin.Namespace+"/"+inner)
		s.tidb(t, 0, "backup", "delete", inner, "--files=false", "--yes")
		refused(t, outer, "another backup is in folder inner of the same place; none of its files was deleted")
		s.tidb(t, 0, "backup", "verify", outer)
	})
	t.Run("a deletion that is killed", func(t *testing.T) {
		name := at("killed")
		first := s.plugin.Start(t.Context(), "backup", "delete", name, "--files", "--yes")
		defer first.Close()
		poll(t, patience, "the Job that deletes the files exists", func(ctx context.Context) bool {
			_, err := s.Kube.BatchV1().Jobs(s.plugin.Namespace).Get(ctx, cluster+"-files-delete", metav1.GetOptions{})
			return err == nil
		})
		first.Close()
		if r := s.tidb(t, 0, "backup", "show", name, "-o", "jsonpath={.phase}"); r.Stdout != "Deleting" {
			s.errorf(t, "%s", r.Stdout)
		}
		if r := s.tidb(t, 0, "backup", "delete", name, "--files", "--yes"); !strings.Contains(r.Stderr, "is followed") || !strings.Contains(r.Stdout, "is deleted, with its files at s3://") {
			s.errorf(t, "stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		again = at("killed")
	})
	t.Run("old backups", func(t *testing.T) {
		operators := strings.TrimSpace(s.tidb(t, 0, "backup", "list", cluster, "-o", `jsonpath={.items[?(@.path=="s3://`+s3Bucket+`/first")].metadata.name}`).Stdout)
		s.finalizers(t, operators, `["tidb.pingcap.com/backup-protection"]`)
		defer s.finalizers(t, operators, "null")
		refused(t, operators, "it belongs to tidb-operator, which deletes its files by its cleanPolicy; nothing of it was changed; have tidb-operator delete it: kubectl delete")
		numbered := at("killed/1")                 // the newest one, in a folder of the one before
		s.tidb(t, 0, "backup", "verify", numbered) // else prune keeps the other one that is verified
		if r := s.tidb(t, 3, "backup", "prune", cluster, "--keep-last", "1", "--files", "--yes"); !strings.Contains(r.Stderr, "the files of backup "+again+" cannot be deleted") || !strings.Contains(r.Stderr, "in folder inner of the same place") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		s.tidb(t, 0, "backup", "delete", again, "--files=false", "--yes")
		refused(t, numbered, "another backup is in the folder above; none of its files was deleted")
		if r := s.tidb(t, 0, "backup", "prune", cluster, "--keep-last", "1", "--dry-run=client"); !strings.HasPrefix(r.Stdout, "backup "+outer+" ") || strings.Count(r.Stdout, "its files at ") != 1 {
			s.errorf(t, "%s", r.Stdout)
		}
		s.tidb(t, 0, "backup", "prune", cluster, "--keep-last", "1", "--yes")
		s.wantBackups(t, 3)
		s.tidb(t, 0, "backup", "delete", numbered, "--files=false", "--yes")
		if r := s.tidb(t, 0, "backup", "prune", cluster, "--keep-within", "1ns", "--yes"); !strings.Contains(r.Stderr, "no backup of cluster") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
	})
	s.wantNoBackupLeft(t, 2)
}

// finalizers sets the finalizers of a Backup.
func (s environment) finalizers(t *testing.T, name, value string) {
	t.Helper()
	patch := `{"metadata":{"finalizers":` + value + `}}`
	if _, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "patch", "backups.pingcap.com", name, "--type", "merge", "-p", patch); err != nil {
		t.Fatal(err)
	}
}

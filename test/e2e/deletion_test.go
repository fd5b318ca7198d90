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
			t.Errorf("stderr %s", r.Stderr)
		}
	}
	s.rows(t, "CREATE DATABASE retained", "CREATE TABLE retained.lines (id INT PRIMARY KEY)", "INSERT INTO retained.lines VALUES (1), (2)")
	outer, inner := at("outer"), at("outer/inner")
	t.Run("files of another backup stay", func(t *testing.T) {
		refused(t, outer, "it has a place in which backup "+s.plugin.Namespace+"/"+inner+" is as well")
		s.tidb(t, 0, "backup", "delete", inner, "--files=false", "--yes")
		refused(t, outer, "another backup is in folder inner of the same place; no file was deleted")
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
			t.Errorf("%s", r.Stdout)
		}
		if r := s.tidb(t, 0, "backup", "delete", name, "--files", "--yes"); !strings.Contains(r.Stderr, "is followed") || !strings.Contains(r.Stdout, "is deleted, with its files at s3://") {
			t.Errorf("stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		at("killed")
	})
	t.Run("old backups", func(t *testing.T) {
		if r := s.tidb(t, 0, "backup", "prune", cluster, "--keep-last", "1", "--dry-run=client"); strings.Count(r.Stdout, "is deleted; its files at ") != 2 {
			t.Errorf("%s", r.Stdout)
		}
		s.tidb(t, 0, "backup", "prune", cluster, "--keep-last", "1", "--yes")
		if r := s.tidb(t, 0, "backup", "list", cluster); strings.Count(r.Stdout, " all data ") != 1 || strings.Count(r.Stdout, " table app.users ") != 1 {
			t.Errorf("%s", r.Stdout)
		}
		if r := s.tidb(t, 0, "backup", "prune", cluster, "--keep-within", "1ns", "--yes"); !strings.Contains(r.Stderr, "no backup of cluster") {
			t.Errorf("stderr %s", r.Stderr)
		}
	})
	s.wantBackups(t, 2)
}

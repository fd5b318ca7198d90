package backup_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestLost: only what BR may have changed is put back. BR sets limits up to 40, and merges no regions.
func TestLost(t *testing.T) {
	was := backup.Settings{
		Schedulers: []string{"balance-leader-scheduler", "balance-region-scheduler", "evict-leader-scheduler"},
		Numbers:    map[string]float64{"region-schedule-limit": 2048, "leader-schedule-limit": 4, "max-snapshot-count": 64, "max-merge-region-keys": 200000},
	}
	now := backup.Settings{
		Schedulers: []string{"balance-region-scheduler", "grant-leader-scheduler"},
		Numbers:    map[string]float64{"region-schedule-limit": 40, "leader-schedule-limit": 12, "max-snapshot-count": 100, "max-merge-region-keys": 300000},
	}
	schedulers, numbers := was.Lost(now)
	if !slices.Equal(schedulers, []string{"balance-leader-scheduler"}) || !maps.Equal(numbers, map[string]float64{"region-schedule-limit": 2048, "leader-schedule-limit": 4}) {
		t.Errorf("%v, %v", schedulers, numbers)
	}
	if schedulers, numbers := was.Lost(was); len(schedulers)+len(numbers) > 0 {
		t.Errorf("%v, %v", schedulers, numbers)
	}
}

// TestSettingsOf: what was recorded is read back. What cannot be read is an error, and not nothing.
func TestSettingsOf(t *testing.T) {
	tc := cluster()
	if _, ok, err := backup.SettingsOf(tc); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	was := backup.Settings{Since: now, Cluster: 1<<63 + 1, Schedulers: []string{"s"}, Numbers: map[string]float64{"n": 200000}}
	text, err := was.Text()
	if err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, topology.AnnotationRestore, text)
	is, ok, err := backup.SettingsOf(tc)
	if !ok || err != nil || is.Cluster != was.Cluster || !is.Since.Equal(was.Since) || is.Numbers["n"] != 200000 {
		t.Errorf("%+v, %v, %v", is, ok, err)
	}
	tc.Annotations[topology.AnnotationRestore] = "["
	if _, ok, err := backup.SettingsOf(tc); ok || err == nil {
		t.Errorf("%v, %v", ok, err)
	}
}

// TestSourceOf: a Backup says where a restore finds its data, or why there is none.
func TestSourceOf(t *testing.T) {
	yes := true
	made := func(changes ...func(*v1alpha1.Backup)) *v1alpha1.Backup {
		b := &v1alpha1.Backup{Spec: v1alpha1.BackupSpec{BR: &v1alpha1.BRConfig{DB: "app"}, ToolImage: "registry:5000/pingcap/br:v8.1.0", ServiceAccount: "reader"}}
		b.Spec.S3 = &v1alpha1.S3StorageProvider{Bucket: "b", Prefix: "/p/", Endpoint: "http://h:9", SecretName: "s3", ForcePathStyle: &yes}
		b.Status.Conditions = []v1alpha1.BackupCondition{{Type: v1alpha1.BackupComplete, Status: "True"}}
		b.Status.BackupSize = 7
		for _, change := range changes {
			change(b)
		}
		return b
	}
	s, flaw := backup.SourceOf(made(), backup.Asked{DB: "app"})
	if flaw != "" || s.URL() != "s3://b/p?endpoint=http%3A%2F%2Fh%3A9&force-path-style=true" || s.Secret != "s3" || s.Account != "reader" || s.Size != 7 || s.Version != "v8.1.0" {
		t.Errorf("%+v, %q", s, flaw)
	}
	for want, change := range map[string]func(*v1alpha1.Backup){
		"is not complete":      func(b *v1alpha1.Backup) { b.Status.Conditions = nil },
		"is no snapshot by BR": func(b *v1alpha1.Backup) { b.Spec.Mode = v1alpha1.BackupModeLog },
		"is not in S3":         func(b *v1alpha1.Backup) { b.Spec.S3 = nil },
		"is incremental":       func(b *v1alpha1.Backup) { b.Spec.BR.Options = []string{"--lastbackupts=1"} },
		"is being deleted":     func(b *v1alpha1.Backup) { b.DeletionTimestamp = &metav1.Time{} },
	} {
		if _, flaw := backup.SourceOf(made(change), backup.Asked{DB: "app"}); flaw != want {
			t.Errorf("%q, want %q", flaw, want)
		}
	}
	if _, flaw := backup.SourceOf(made(), backup.Asked{DB: "other"}); flaw != "has database app only" {
		t.Errorf("%q", flaw)
	}
	if a := (backup.Asked{}).ScopedBy(made()); a.DB != "app" {
		t.Errorf("%+v", a)
	}
}

// TestTooOld: a backup is restored into its own release or a newer one. What is not known is left to BR.
func TestTooOld(t *testing.T) {
	c := topology.New(cluster())
	for version, old := range map[string]bool{"v8.1.0": false, "v7.5.0": false, "v8.1.1": true, "": false} {
		if got := (backup.Source{Version: version}).TooOld(c); (got != "") != old {
			t.Errorf("%s: %q", version, got)
		}
	}
}

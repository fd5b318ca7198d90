package backup_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func ago(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }

// ts returns the timestamp of TiDB for a time.
func ts(t time.Time) string { return strconv.FormatInt(t.UnixMilli()<<18+5, 10) }

// made returns a Backup of cluster db/basic that is complete, with data of so many hours ago.
func made(name string, hours int, changes ...func(*v1alpha1.Backup)) v1alpha1.Backup {
	b := v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name},
		Spec:       v1alpha1.BackupSpec{Mode: v1alpha1.BackupModeSnapshot, BR: &v1alpha1.BRConfig{Cluster: "basic"}},
		Status: v1alpha1.BackupStatus{
			CommitTs: ts(ago(hours)), Phase: v1alpha1.BackupComplete, TimeStarted: metav1.NewTime(ago(hours)), TimeCompleted: metav1.NewTime(ago(hours - 1)),
		},
	}
	set(&b, v1alpha1.BackupComplete, corev1.ConditionTrue)
	for _, change := range changes {
		change(&b)
	}
	return b
}

func set(b *v1alpha1.Backup, what v1alpha1.BackupConditionType, is corev1.ConditionStatus) {
	b.Status.Conditions = append(b.Status.Conditions, v1alpha1.BackupCondition{Type: what, Status: is})
	b.Status.Phase = what
}

func of(backups ...v1alpha1.Backup) backup.Found {
	tc := &v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", CreationTimestamp: metav1.NewTime(ago(1000))}}
	return backup.Of(tc, backups)
}

// TestFlaws: what a restore could not give back whole, or not at all, is no backup.
func TestFlaws(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.Backup)
		says   string // "" where it counts
	}{
		"complete":            {func(*v1alpha1.Backup) {}, ""},
		"mode by default":     {func(b *v1alpha1.Backup) { b.Spec.Mode = "" }, ""},
		"full":                {func(b *v1alpha1.Backup) { b.Spec.Type = v1alpha1.BackupTypeFull }, ""},
		"all tables":          {func(b *v1alpha1.Backup) { b.Spec.TableFilter = []string{"*.*"} }, ""},
		"volume snapshot":     {func(b *v1alpha1.Backup) { b.Spec.Mode = v1alpha1.BackupModeVolumeSnapshot }, ""},
		"one database":        {func(b *v1alpha1.Backup) { b.Spec.Type = v1alpha1.BackupTypeDB }, "is not of the whole cluster"},
		"one database, by BR": {func(b *v1alpha1.Backup) { b.Spec.BR.DB = "app" }, "is not of the whole cluster"},
		"one table, by BR":    {func(b *v1alpha1.Backup) { b.Spec.BR.Table = "users" }, "is not of the whole cluster"},
		"some tables":         {func(b *v1alpha1.Backup) { b.Spec.TableFilter = []string{"*.*", "!app.*"} }, "is not of the whole cluster"},
		"incremental":         {func(b *v1alpha1.Backup) { b.Spec.BR.Options = []string{"--lastbackupts=4"} }, "is incremental"},
		"log":                 {func(b *v1alpha1.Backup) { b.Spec.Mode = v1alpha1.BackupModeLog }, "is a log backup"},
		"federated":           {func(b *v1alpha1.Backup) { b.Spec.FederalVolumeBackupPhase = v1alpha1.FederalVolumeBackupExecute }, "is one part"},
		"being cleaned":       {func(b *v1alpha1.Backup) { set(b, v1alpha1.BackupClean, corev1.ConditionTrue) }, "is being deleted"},
		"being deleted":       {func(b *v1alpha1.Backup) { at := metav1.NewTime(now); b.DeletionTimestamp = &at }, "is being deleted"},
		"running": {func(b *v1alpha1.Backup) {
			b.Status.Conditions = nil
			set(b, v1alpha1.BackupRunning, corev1.ConditionTrue)
		}, "is not complete: it is Running"},
		"not begun": {func(b *v1alpha1.Backup) { b.Status = v1alpha1.BackupStatus{} }, "is not complete: it is not begun"},
		"not any more complete": {func(b *v1alpha1.Backup) {
			b.Status.Conditions = nil
			set(b, v1alpha1.BackupComplete, corev1.ConditionFalse)
			b.Status.Phase = v1alpha1.BackupFailed
		}, "is not complete: it is Failed"},
		"no time": {func(b *v1alpha1.Backup) {
			b.Status.CommitTs, b.Status.TimeStarted, b.Status.TimeCompleted = "", metav1.Time{}, metav1.Time{}
		}, "does not say when it was made"},
		"of an earlier cluster": {func(b *v1alpha1.Backup) { b.Status.CommitTs = ts(ago(1001)) }, "is older than this cluster"},
	} {
		got := of(made("b", 2, tt.change))
		if tt.says == "" {
			if got.Newest != "db/b" || len(got.Others) > 0 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if got.Newest != "" || len(got.Others) != 1 || !strings.HasPrefix(got.Others[0], "db/b "+tt.says) {
			t.Errorf("%s: %+v, want %q", name, got, tt.says)
		}
	}
}

// TestAbout: only Backups that name the cluster are looked at.
func TestAbout(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*v1alpha1.Backup)
		counts bool
	}{
		"its namespace by default": {func(*v1alpha1.Backup) {}, true},
		"from another namespace": {func(b *v1alpha1.Backup) {
			b.Namespace, b.Spec.BR.ClusterNamespace = "backups", "db"
		}, true},
		"in another namespace":     {func(b *v1alpha1.Backup) { b.Namespace = "backups" }, false},
		"of another namespace":     {func(b *v1alpha1.Backup) { b.Spec.BR.ClusterNamespace = "other" }, false},
		"of another cluster":       {func(b *v1alpha1.Backup) { b.Spec.BR.Cluster = "other" }, false},
		"by Dumpling, of a server": {func(b *v1alpha1.Backup) { b.Spec.BR = nil }, false},
	} {
		got := of(made("b", 2, tt.change))
		if (got.Newest != "") != tt.counts || len(got.Others) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestLacks: the data's age counts, and a refusal names the newest backup and its age.
func TestLacks(t *testing.T) {
	late := func(b *v1alpha1.Backup) { b.Status.TimeCompleted = metav1.NewTime(ago(1)) } // it took a day
	untold := func(b *v1alpha1.Backup) { b.Status.CommitTs = "" }
	unstarted := func(b *v1alpha1.Backup) { b.Status.CommitTs, b.Status.TimeStarted = "?", metav1.Time{} }
	logs := func(b *v1alpha1.Backup) { b.Spec.Mode = v1alpha1.BackupModeLog }
	for name, tt := range map[string]struct {
		backups []v1alpha1.Backup
		says    string
	}{
		"new enough":              {[]v1alpha1.Backup{made("old", 50), made("new", 24)}, ""},
		"the newest is too old":   {[]v1alpha1.Backup{made("older", 50), made("old", 25)}, "the newest is db/old, with the data of 2026-03-09T11:00:00Z (25h ago)"},
		"it took long":            {[]v1alpha1.Backup{made("slow", 25, late)}, "the newest is db/slow, with the data of 2026-03-09T11:00:00Z (25h ago)"},
		"no timestamp":            {[]v1alpha1.Backup{made("b", 24, untold)}, ""},
		"no timestamp, too old":   {[]v1alpha1.Backup{made("b", 25, untold)}, "(25h ago)"},
		"only when it was over":   {[]v1alpha1.Backup{made("b", 25, unstarted)}, ""},
		"a newer one is of logs":  {[]v1alpha1.Backup{made("log", 1, logs), made("old", 30)}, "the newest is db/old"},
		"none counts":             {[]v1alpha1.Backup{made("log", 1, logs)}, "none counts: db/log is a log backup, which can only be restored onto a full one"},
		"many of which none does": {[]v1alpha1.Backup{made("a", 4, logs), made("b", 3, logs), made("c", 2, logs), made("d", 1, logs)}, "db/b is a log backup, which can only be restored onto a full one; and 1 more"},
		"none":                    {nil, "it has none"},
	} {
		got := of(tt.backups...).Lacks(now, 24*time.Hour)
		if tt.says == "" && got != "" || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
	}
}

package backup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// stored returns a complete Backup of cluster db/basic in a bucket, whose data is some hours old.
func stored(name, prefix string, hours int, changes ...func(*v1alpha1.Backup)) v1alpha1.Backup {
	b := v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(ago(hours).Add(time.Minute))},
		Spec: v1alpha1.BackupSpec{
			BR:              &v1alpha1.BRConfig{Cluster: "basic"},
			StorageProvider: v1alpha1.StorageProvider{S3: &v1alpha1.S3StorageProvider{Bucket: "b", Prefix: prefix, SecretName: "s3"}},
		},
		Status: v1alpha1.BackupStatus{
			Phase: v1alpha1.BackupComplete, TimeStarted: metav1.NewTime(ago(hours)), TimeCompleted: metav1.NewTime(ago(hours).Add(time.Minute)),
			Conditions: []v1alpha1.BackupCondition{{Type: v1alpha1.BackupComplete, Status: corev1.ConditionTrue}},
		},
	}
	for _, change := range changes {
		change(&b)
	}
	return b
}

// TestUndeletable: a Backup that somebody else deletes, or that may be under way, is left.
func TestUndeletable(t *testing.T) {
	for says, change := range map[string]func(*v1alpha1.Backup){
		"": func(*v1alpha1.Backup) {},
		"belongs to tidb-operator, which deletes its files by its cleanPolicy": func(b *v1alpha1.Backup) { b.Finalizers = []string{"tidb.pingcap.com/backup-protection"} },
		"is being deleted by tidb-operator": func(b *v1alpha1.Backup) {
			b.Status.Conditions = append(b.Status.Conditions, v1alpha1.BackupCondition{Type: v1alpha1.BackupClean, Status: corev1.ConditionTrue})
		},
		"is a log backup, which has to be stopped first": func(b *v1alpha1.Backup) { b.Spec.Mode = v1alpha1.BackupModeLog },
		"has not ended: it is Running":                   func(b *v1alpha1.Backup) { b.Status.Conditions, b.Status.Phase = nil, v1alpha1.BackupRunning },
		"has not ended: it is not begun":                 func(b *v1alpha1.Backup) { b.Status = v1alpha1.BackupStatus{} },
	} {
		b := stored("monday", "p", 1, change)
		if got := backup.Undeletable(&b); got != says {
			t.Errorf("%q, want %q", got, says)
		}
	}
	// A deletion that was begun here goes on.
	b := stored("monday", "p", 1, func(b *v1alpha1.Backup) {
		b.Annotations = map[string]string{backup.AnnotationDeleting: "2026-03-10T12:00:00Z"}
	})
	if got := backup.Undeletable(&b); got != "" {
		t.Error(got)
	}
	if _, flaw := backup.SourceOf(&b, backup.Asked{}); flaw != "is being deleted" || backup.PhaseOf(&b) != "Deleting" {
		t.Errorf("%q, %s", flaw, backup.PhaseOf(&b))
	}
	if found := backup.Of(cluster(), []v1alpha1.Backup{b}); found.Newest != "" || len(found.Others) != 1 {
		t.Errorf("a backup that is being deleted counts: %+v", found)
	}
}

// TestFilesOf: files stay where another Backup may have its files among them.
func TestFilesOf(t *testing.T) {
	const overlap = "has a place that overlaps with the place of backup db/other"
	of := stored("monday", "base/one/", 1)
	for prefix, says := range map[string]string{
		"base/one/": overlap, "base/one/two": overlap,
		"base/ones": "", "base": overlap, "": overlap, "other": "",
	} {
		other := stored("other", prefix, 2)
		from, flaw := backup.FilesOf(&of, []v1alpha1.Backup{of, other})
		if flaw != says || flaw == "" && (from.Path() != "s3://b/base/one" || from.Secret != "s3") {
			t.Errorf("%s: %q, %+v", prefix, flaw, from)
		}
	}
	for says, change := range map[string]func(*v1alpha1.Backup){
		"is no snapshot by BR":                                 func(b *v1alpha1.Backup) { b.Spec.BR = nil },
		"is not in S3":                                         func(b *v1alpha1.Backup) { b.Spec.S3 = nil },
		"has a place that cannot be used":                      func(b *v1alpha1.Backup) { b.Spec.S3.Prefix = "" },
		"has a place with empty folders":                       func(b *v1alpha1.Backup) { b.Spec.S3.Prefix = "p//1" },
		"has a place with empty folders or":                    func(b *v1alpha1.Backup) { b.Spec.S3.Prefix = "p/../1" },
		"was written to s3://b/q, and its spec names s3://b/p": func(b *v1alpha1.Backup) { b.Status.BackupPath = "s3://b/q" },
	} {
		b := stored("monday", "p", 1, change)
		if _, flaw := backup.FilesOf(&b, nil); !strings.HasPrefix(flaw, says) {
			t.Errorf("%q, want %q", flaw, says)
		}
	}
}

// TestForbids: what the bucket says must fit the Backup.
func TestForbids(t *testing.T) {
	b := stored("monday", "p", 10)
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	file := func(path string, written time.Time) string {
		return `{"Path":"` + path + `","Name":"x","Size":2,"ModTime":"` + at(written) + `","IsDir":false},`
	}
	own := file("backupmeta", ago(10))
	for name, c := range map[string]struct {
		list string
		says string
	}{
		"its own":           {"[\n" + own + "\n" + file("backup.lock", ago(10)) + "\n]\n", ""},
		"nothing":           {"[\n]\n", "its backupmeta is not there"},
		"nothing, one line": {"[]\n", "its backupmeta is not there"},
		"names that rclone does not take": {"2026/11/30 06:53:28 NOTICE: S3 bucket b: Odd name received \"/1.sst\"\n[\n]\n",
			"rclone says: NOTICE: S3 bucket b: Odd name received \"/1.sst\""},
		"a lock that is later": {"[\n" + own + "\n" + file("backup.lock", ago(3)) + "\n]\n", "another backup is there: its backup.lock was written at " + ago(3).UTC().Format(time.RFC3339)},
		"no log":               {"", "the list of its files has no end"},
		"cut off":              {"[\n" + own + "\n", "the list of its files has no end"},
		"below":                {"[\n" + own + "\n" + file("two/backup.lock", ago(1)) + "\n]\n", "another backup is in folder two of the same place"},
		"later":                {"[\n" + file("backupmeta", ago(3)) + "\n]\n", "another backup is there: its backupmeta was written at " + ago(3).UTC().Format(time.RFC3339)},
		"earlier":              {"[\n" + file("backupmeta", ago(11)) + "\n]\n", "another backup is there: its backupmeta was written at " + ago(11).UTC().Format(time.RFC3339)},
		"other clock":          {"[\n" + file("backupmeta", ago(10).Add(9*time.Minute)) + "\n]\n", ""},
	} {
		var l backup.Listing
		for _, line := range strings.SplitAfter(c.list, "\n") {
			l.Add(line)
		}
		if got := l.Forbids(&b, nil); got != c.says {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
	empty := backup.Listing{Whole: true}
	if got := empty.Forbids(&b, &backup.Listing{Whole: true, Count: 1}); got != "another backup is in the folder above" {
		t.Error(got)
	}
	if got := empty.Forbids(&b, &backup.Listing{}); got != "the list of the folder above has no end" {
		t.Error(got)
	}
	b.Annotations = map[string]string{backup.AnnotationDeleting: "2026-03-10T12:00:00Z"}
	if got := empty.Forbids(&b, &empty); got != "" {
		t.Errorf("a deletion that was begun does not go on: %s", got)
	}
	failed := stored("monday", "p", 10, func(b *v1alpha1.Backup) {
		b.Status.Conditions[0].Type, b.Status.Conditions[0].LastTransitionTime = v1alpha1.BackupFailed, b.Status.TimeCompleted
		b.Status.TimeCompleted = metav1.Time{}
	})
	l := backup.Listing{Whole: true, Files: []backup.File{{Path: "backupmeta", ModTime: ago(10)}}, Count: 1}
	if got := l.Forbids(&failed, nil); got != "a complete backup is there, and this one is not complete" {
		t.Error(got)
	}
	l.Files[0].Path = "backup.lock"
	if got := l.Forbids(&failed, nil); got != "" {
		t.Error(got)
	}
	l.Files[0].ModTime = ago(1)
	if got := l.Forbids(&failed, nil); !strings.HasPrefix(got, "another backup is there: its backup.lock") {
		t.Errorf("%q: another backup may be running", got)
	}
}

// TestListingOfBR: what is left is of BR where the patterns of the deletion take it.
func TestListingOfBR(t *testing.T) {
	for path, is := range map[string]bool{
		"backupmeta": true, "backupmeta.schema.1": true, "backup.lock": true, "1_2.sst": true, "1/2.sst": true, "12/3.sst": true, "checkpoints/backup/a": true,
		"mine.txt": false, "backupmetax": false, "two/backupmeta": false, "two/1.sst": false, "1/2/3.sst": false, "1/x.txt": false, "backupxlock": false, "x/checkpoints/a": false,
	} {
		var l backup.Listing
		l.Add(`{"Path":"` + path + `"}`)
		if (l.OfBR == 1) != is || l.Count != 1 {
			t.Errorf("%s: %+v", path, l)
		}
	}
}

// TestListingError: rclone's error has the status code of S3, which is in another line.
func TestListingError(t *testing.T) {
	for line, c := range map[string]struct {
		says  string
		cause backup.Cause
	}{
		"2026/11/30 06:53:28 Failed to lsjson: error in ListJSON: SignatureDoesNotMatch: other key\n\tstatus code: 403, request id: , host id: \n": {
			"rclone says: Failed to lsjson: error in ListJSON: SignatureDoesNotMatch: other key status code: 403, request id: , host id:", backup.Storage},
		"2026/11/30 06:53:28 NOTICE: Failed to lsjson: error in ListJSON: directory not found\n": {
			"rclone says: NOTICE: Failed to lsjson: error in ListJSON: directory not found", backup.Storage},
		"2026/11/30 06:53:28 ERROR : 1_2.sst: Couldn't delete: AccessDenied: no\n": {"rclone says: ERROR : 1_2.sst: Couldn't delete: AccessDenied: no", backup.Storage},
		"2026/11/30 06:53:28 CRITICAL: Failed to lsjson: error in ListJSON: operation error S3: ListObjectsV2, https response error StatusCode: 403, api error AccessDenied: no\n": {
			"rclone says: CRITICAL: Failed to lsjson: error in ListJSON: operation error S3: ListObjectsV2, https response error StatusCode: 403, api error AccessDenied: no", backup.Storage},
		"": {"rclone has ended and gives no reason", backup.Unexplained},
	} {
		var l backup.Listing
		for _, part := range strings.SplitAfter(line, "\n") {
			l.Add(part)
		}
		pod := &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
			Name: backup.ContainerFiles, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
		}}}}
		text, cause := backup.FilesFailure(pod, l, backup.Listing{})
		if text != c.says || cause != c.cause {
			t.Errorf("%q, %q", text, cause)
		}
	}
}

// TestFilesJobs: rclone lists what says which backups are at the place, and deletes what BR writes, by one prefix.
func TestFilesJobs(t *testing.T) {
	asked := backup.Asked{URL: "s3://b/p/q?endpoint=http://h:9&force-path-style=true&region=eu", Secret: "s3", Backup: "monday", Does: backup.Lists}
	tc := cluster(func(tc *v1alpha1.TidbCluster) { tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true} })
	const access = " --s3-env-auth --s3-provider=Other --s3-region=eu --s3-endpoint=http://h:9 --s3-force-path-style=true :s3:b/p/q/"
	const all = "lsjson --config= --contimeout=15s --low-level-retries=3 --recursive --files-only --no-mimetype --use-server-modtime"
	r := request(t, asked, tc)
	r.Tool = r.Asked.Tool(topology.New(tc))
	pod := r.Job().Spec.Template.Spec
	if got := strings.Join(pod.Containers[0].Args, " "); got != all+" --include=backupmeta --include=backup.lock"+access || len(pod.InitContainers) > 0 {
		t.Errorf("%s", got)
	}
	r.Does = backup.Deletes
	job := r.Job()
	pod = job.Spec.Template.Spec
	deletes, lists := pod.InitContainers[0], pod.Containers[0]
	const own = "delete --config= --contimeout=15s --low-level-retries=3 --include=/backupmeta --include=/backupmeta.* --include=/backup.lock --include=/checkpoints/** --include=/*.sst --include=/[0-9]*/*.sst"
	if got := strings.Join(deletes.Args, " "); got != own+access {
		t.Errorf("%s", got)
	}
	if got := strings.Join(lists.Args, " "); got != all+access {
		t.Errorf("%s", got)
	}
	for _, c := range []corev1.Container{deletes, lists} {
		if c.Image != backup.FilesImage || c.Command[0] != "rclone" || len(c.VolumeMounts) > 0 || c.Env[len(c.Env)-1].ValueFrom.SecretKeyRef.Name != "s3" {
			t.Errorf("%+v", c)
		}
	}
	if len(pod.Volumes) > 0 || job.Name != "basic-files-delete" || backup.ProgramOf(job) != "rclone" {
		t.Errorf("%s, %s, %+v", job.Name, backup.ProgramOf(job), pod.Volumes)
	}
	// A folder with a number may be that of a store of a backup above.
	r.Does, r.Prefix = backup.Lists, "p/1"
	pod = r.Job().Spec.Template.Spec
	if got := strings.Join(pod.InitContainers[0].Args, " "); !strings.Contains(got, " --max-depth=1 --include=backupmeta --include=backup.lock ") || !strings.HasSuffix(got, " :s3:b/p/") {
		t.Error(got)
	}
	r.Prefix, r.Does = "1", backup.Lists
	if got := strings.Join(r.Job().Spec.Template.Spec.InitContainers[0].Args, " "); !strings.HasSuffix(got, " :s3:b/") {
		t.Error(got)
	}
	r.Does = backup.Deletes
	if got := r.Command(r.Cluster).Line(""); got != "kubectl tidb backup delete monday --files --cluster basic --from-secret s3 -n db" {
		t.Error(got)
	}
}

// TestUsedBy: a pod in which BR may run keeps the files that it reads or writes.
func TestUsedBy(t *testing.T) {
	for storage, uses := range map[string]bool{
		"s3://b/p": true, "s3://b/p/": true, "s3://b/p?force-path-style=true": true, "s3://b/p/q": true, "s3://b/pq": false, "s3://b/": true, "s3://other/p": false, "local:///p": false,
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: []string{"restore", "full", "--storage=" + storage}}}}}
		d := backup.Destination{Bucket: "b", Prefix: "p"}
		if d.UsedBy(pod) != uses {
			t.Errorf("%s: %v", storage, !uses)
		}
		if pod.Status.Phase = corev1.PodSucceeded; d.UsedBy(pod) {
			t.Errorf("%s: a pod that has ended uses it", storage)
		}
	}
}

// TestExpired: the newest complete backup is never deleted, and a failed one replaces none.
func TestExpired(t *testing.T) {
	failed := func(b *v1alpha1.Backup) {
		b.Status.Conditions[0].Type, b.Status.Phase = v1alpha1.BackupFailed, v1alpha1.BackupFailed
	}
	all := []v1alpha1.Backup{
		stored("h01-failed", "1", 1, failed), stored("h02", "2", 2), stored("h03-table", "3", 3, func(b *v1alpha1.Backup) { b.Spec.BR.DB = "app" }),
		stored("h04", "4", 4), stored("h05-scheduled", "5", 5, func(b *v1alpha1.Backup) { b.Labels = map[string]string{"tidb.pingcap.com/backup-schedule": "daily"} }),
		stored("h06", "6", 6), stored("h07-other", "7", 7, func(b *v1alpha1.Backup) { b.Spec.BR.Cluster = "other" }),
		stored("h08-operator", "8", 8, func(b *v1alpha1.Backup) { b.Finalizers = []string{"tidb.pingcap.com/backup-protection"} }),
		stored("h09-elsewhere", "9", 9, func(b *v1alpha1.Backup) { b.Namespace, b.Spec.BR.ClusterNamespace = "backups", "db" }), stored("h10", "10", 10),
	}
	for keep, want := range map[backup.Retention]string{
		{Last: 1}: "h10 h06 h04", {Last: 2}: "h10 h06", {Last: 4}: "h10", {Last: 9}: "",
		{Within: 4 * time.Hour}: "h10 h06", {Within: time.Second}: "h10 h06 h04", {Within: 5 * time.Hour, Last: 4}: "h10",
	} {
		if got := strings.Join(keep.Expired(cluster(), all, now), " "); got != want {
			t.Errorf("%+v: %q, want %q", keep, got, want)
		}
	}
	proven := func(annotation string) func(*v1alpha1.Backup) {
		return func(b *v1alpha1.Backup) { b.Annotations = map[string]string{annotation: "2026-03-10T12:00:00Z"} }
	}
	all = []v1alpha1.Backup{
		stored("h01-damaged", "1", 1, proven(backup.AnnotationDamaged)), stored("h02", "2", 2), stored("h03", "3", 3), stored("h04-verified", "4", 4, proven(backup.AnnotationVerified)),
		stored("h05-drilled", "5", 5, proven(backup.AnnotationDrilled)), stored("h06-incremental", "6", 6, func(b *v1alpha1.Backup) { b.Spec.BR.Options = []string{"--lastbackupts=1"} }),
		stored("h07-base", "7", 7), stored("h08", "8", 8), stored("h09-begun", "9", 9, proven(backup.AnnotationDeleting)),
	}
	if got := strings.Join(backup.Retention{Last: 1}.Expired(cluster(), all, now), " "); got != "h09-begun h08 h05-drilled h03" {
		t.Error(got)
	}
	if got := (backup.Retention{Within: time.Second}).Expired(cluster(), all[:2], now); len(got) > 0 {
		t.Errorf("the last one is deleted: %v", got)
	}
	in := &backup.Destination{Bucket: "b", Prefix: "daily"}
	placed := func(path string) func(*v1alpha1.Backup) {
		return func(b *v1alpha1.Backup) { b.Status.BackupPath = path + "/" + b.Name }
	}
	all = []v1alpha1.Backup{
		stored("h01", "1", 1, placed("s3://b/weekly")), stored("h02", "2", 2, placed("s3://b/daily")), stored("h03", "3", 3, placed("s3://b/daily-2")),
		stored("h04", "4", 4, placed("s3://b/daily")), stored("h07", "7", 7, placed("s3://b/daily/monthly")),
		stored("h05-by-hand", "5", 5, func(b *v1alpha1.Backup) { b.Status.BackupPath = "s3://b/daily/monday" }),
		stored("h06-begun", "6", 6, placed("s3://b/other"), proven(backup.AnnotationDeleting)),
	}
	if got := strings.Join(backup.Retention{Last: 1, In: in}.Expired(cluster(), all, now), " "); got != "h04" {
		t.Error(got)
	}
}

// TestMadeBy: only a whole backup of the same data by the same run counts as the backup of a run.
func TestMadeBy(t *testing.T) {
	asked, in := backup.Asked{Run: "1"}, backup.Destination{Bucket: "b", Prefix: "daily"}
	of := topology.New(cluster())
	for name, c := range map[string]struct {
		change func(b *v1alpha1.Backup)
		counts bool
	}{
		"of the run":         {func(*v1alpha1.Backup) {}, true},
		"of another run":     {func(b *v1alpha1.Backup) { b.Annotations["kubectl-tidb/run"] = "2" }, false},
		"of a database":      {func(b *v1alpha1.Backup) { b.Spec.BR.DB = "app" }, false},
		"at another prefix":  {func(b *v1alpha1.Backup) { b.Status.BackupPath = "s3://b/weekly/" + b.Name }, false},
		"of another cluster": {func(b *v1alpha1.Backup) { b.Spec.BR.Cluster = "other" }, false},
		"of a cluster before": {func(b *v1alpha1.Backup) {
			b.Status.CommitTs, b.Status.TimeStarted = "", metav1.NewTime(now.AddDate(-9, 0, 0))
		}, false},
		"damaged":               {func(b *v1alpha1.Backup) { b.Annotations[backup.AnnotationDamaged] = "2026-03-10T12:00:00Z" }, false},
		"its files are deleted": {func(b *v1alpha1.Backup) { b.Annotations[backup.AnnotationDeleting] = "2026-03-10T12:00:00Z" }, false},
		"it has failed":         {func(b *v1alpha1.Backup) { b.Status.Phase = v1alpha1.BackupFailed }, false},
	} {
		b := stored("basic-1", "1", 1, func(b *v1alpha1.Backup) {
			b.Annotations = map[string]string{"kubectl-tidb/run": "1"}
			b.Status.BackupPath, b.Status.Phase = "s3://b/daily/basic-1", v1alpha1.BackupComplete
		}, c.change)
		if got := asked.MadeBy(of, in, []v1alpha1.Backup{b}); (got != nil) != c.counts {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOuter: a backup at a prefix or above it would keep the backups in folders of the prefix from being deleted.
func TestOuter(t *testing.T) {
	for prefix, outer := range map[string]bool{"daily": true, "/daily/": true, "a": false, "daily/1": false, "dail": false, "daily-2": false} {
		b := stored("basic-1", "1", 1, func(b *v1alpha1.Backup) { b.Spec.S3.Prefix = prefix })
		b.Spec.S3.Bucket = "b"
		if got := (backup.Destination{Bucket: "b", Prefix: "daily"}).Outer([]v1alpha1.Backup{b}); (got != "") != outer {
			t.Errorf("%s: %q", prefix, got)
		}
	}
	b := stored("basic-1", "1", 1, func(b *v1alpha1.Backup) { b.Spec.S3.Prefix = "a" })
	if got := (backup.Destination{Bucket: b.Spec.S3.Bucket, Prefix: "a/b"}).Outer([]v1alpha1.Backup{b}); got == "" {
		t.Error("a backup above the prefix is not seen")
	}
}

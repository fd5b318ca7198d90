package backup_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// cluster returns cluster db/basic of v8.1.0.
func cluster(changes ...func(*v1alpha1.TidbCluster)) *v1alpha1.TidbCluster {
	tc := &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "7", CreationTimestamp: metav1.NewTime(ago(1000))},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", PD: &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 1}, TiKV: &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", Replicas: 1},
		},
	}
	for _, change := range changes {
		change(tc)
	}
	return tc
}

func request(t *testing.T, asked backup.Asked, tc *v1alpha1.TidbCluster) backup.Request {
	t.Helper()
	d, err := backup.ParseDestination(asked.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := topology.New(tc)
	return backup.Request{Cluster: c, Asked: asked, Destination: d, Name: backup.Name(c, now), Tool: backup.Image(c)}
}

// TestJob: the Job has BR's image alone, and no credentials in its arguments.
func TestJob(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		asked backup.Asked
		tls   bool
		args  string
	}{
		"full": {backup.Asked{URL: "s3://b/p", Secret: "s3"}, false, "backup full --pd=basic-pd:2379 --storage=s3://b/p"},
		"database": {backup.Asked{URL: "s3://b/p", Secret: "s3", DB: "app", RateLimit: 64, Checksum: &yes}, false,
			"backup db --pd=basic-pd:2379 --storage=s3://b/p --db=app --ratelimit=64 --checksum=true"},
		"table": {backup.Asked{URL: "s3://b/p?endpoint=http://h:9&force-path-style=true&region=eu", Account: "writer", DB: "app", Table: "users"}, false,
			"backup table --pd=basic-pd:2379 --storage=s3://b/p?force-path-style=true --s3.region=eu --s3.endpoint=http://h:9 --db=app --table=users"},
		"TLS": {backup.Asked{URL: "s3://b/p", Secret: "s3"}, true,
			"backup full --pd=basic-pd:2379 --storage=s3://b/p --ca=/var/lib/cluster-client-tls/ca.crt --cert=/var/lib/cluster-client-tls/tls.crt --key=/var/lib/cluster-client-tls/tls.key"},
	} {
		job := request(t, c.asked, cluster(func(tc *v1alpha1.TidbCluster) {
			if c.tls {
				tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
			}
		})).Job()
		pod := job.Spec.Template.Spec
		saves, reads := pod.InitContainers[0], pod.Containers[0]
		if got := strings.Join(saves.Args, " "); got != c.args {
			t.Errorf("%s: %s", name, got)
		}
		if !strings.HasPrefix(strings.Join(reads.Args, " "), "debug decode --field=end-version --storage=s3://b/p") {
			t.Errorf("%s: %s", name, reads.Args)
		}
		for _, container := range []corev1.Container{saves, reads} {
			if container.Image != "pingcap/br:v8.1.0" || container.Command[0] != "/br" || container.Env[0].Name != "BR_LOG_TO_TERM" {
				t.Errorf("%s: %+v", name, container)
			}
			has := slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool {
				return e.Name == "AWS_SECRET_ACCESS_KEY" && e.Value == "" && e.ValueFrom.SecretKeyRef.Name == "s3" && e.ValueFrom.SecretKeyRef.Key == "secret_key"
			})
			if has != (c.asked.Secret != "") || (len(container.VolumeMounts) == 1) != c.tls {
				t.Errorf("%s: %+v", name, container)
			}
		}
		if c.tls && pod.Volumes[0].Secret.SecretName != "basic-cluster-client-secret" {
			t.Errorf("%s: %+v", name, pod.Volumes)
		}
		if pod.RestartPolicy != corev1.RestartPolicyNever || *job.Spec.BackoffLimit != 0 || pod.ServiceAccountName != c.asked.Account ||
			*pod.AutomountServiceAccountToken != (c.asked.Account != "") || job.Name != "basic-br-backup" || !metav1.IsControlledBy(job, cluster()) {
			t.Errorf("%s: %+v", name, job)
		}
		// Its pod must be none of the cluster's: the plugin would take it for a member.
		if labels := job.Spec.Template.Labels; labels[topology.LabelName] == "tidb-cluster" || labels[backup.LabelBackup] != "basic-20260310-120000" {
			t.Errorf("%s: %v", name, labels)
		}
		if asked, ok := backup.AskedOf(job); !ok || !backup.IsSame(job, c.asked) || asked.URL != c.asked.URL || backup.ToolOf(job) != "pingcap/br:v8.1.0" {
			t.Errorf("%s: %+v", name, asked)
		}
		if other := c.asked; backup.IsSame(job, func() backup.Asked { other.DB = "other"; return other }()) {
			t.Errorf("%s: another backup is the same", name)
		}
	}
	if backup.IsSame(&batchv1.Job{}, backup.Asked{}) {
		t.Error("a Job of others is the same")
	}
}

// TestCommand: the command that follows a backup asks for the same.
func TestCommand(t *testing.T) {
	no := false
	a := backup.Asked{URL: "s3://b/p?endpoint=http%3A%2F%2Fh", DB: "app", Table: "users", Secret: "s3", Account: "w", RateLimit: 3, Checksum: &no, Image: "i"}
	want := "kubectl tidb backup create basic --to 's3://b/p?endpoint=http%3A%2F%2Fh' --table app.users --from-secret s3 --service-account w --image i " +
		"--rate-limit 3 --checksum=false -n db"
	if got := a.Command(topology.New(cluster())).Line(""); got != want {
		t.Errorf("%s", got)
	}
}

// TestRecord: the Backup counts where a backup is required, unless it has one database only.
func TestRecord(t *testing.T) {
	out := backup.Outcome{TS: uint64(ago(2).UnixMilli()) << 18, Size: 7235, Started: ago(2), Completed: ago(2).Add(90 * time.Second)} //nolint:gosec // a time after 1970
	b := request(t, backup.Asked{URL: "s3://b/p?endpoint=http://h", Secret: "s3", RateLimit: 64}, cluster()).Record(out)
	if s := b.Status; s.BackupPath != "s3://b/p" || s.BackupSize != 7235 || s.BackupSizeReadable != "7.2 kB" || s.TimeTaken != "1m30s" || s.Phase != v1alpha1.BackupComplete {
		t.Errorf("%+v", s)
	}
	if s := b.Spec; s.S3.Bucket != "b" || s.S3.Prefix != "p" || s.S3.SecretName != "s3" || s.S3.Endpoint != "http://h" || *s.BR.RateLimit != 64 || s.Type != v1alpha1.BackupTypeFull {
		t.Errorf("%+v", s)
	}
	if found := backup.Of(cluster(), []v1alpha1.Backup{*b}); found.Newest != "db/basic-20260310-120000" || found.Lacks(now, 3*time.Hour) != "" {
		t.Errorf("%+v", found)
	}
	r := request(t, backup.Asked{URL: "s3://b/p?endpoint=http://h", DB: "app"}, cluster())
	if found := backup.Of(cluster(), []v1alpha1.Backup{*r.Record(out)}); found.Newest != "" || backup.ScopeOf(r.Record(out)) != "database app" {
		t.Errorf("one database counts as the whole cluster: %+v", found)
	}
	if got := r.Holder([]v1alpha1.Backup{*b}); got != "db/basic-20260310-120000" {
		t.Errorf("%q holds the path", got)
	}
	if got := request(t, backup.Asked{URL: "s3://b/p?endpoint=http://other"}, cluster()).Holder([]v1alpha1.Backup{*b}); got != "" {
		t.Errorf("%q of another storage holds the path", got)
	}
	if at := backup.DataOf(&v1alpha1.Backup{}); !at.IsZero() {
		t.Errorf("data of %s", at)
	}
}

// TestReadable: sizes are in decimal units, as those of tidb-operator.
func TestReadable(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 7235: "7.2 kB", 1_500_000: "1.5 MB", 2_000_000_000_000: "2.0 TB"} {
		if got := backup.Readable(bytes); got != want {
			t.Errorf("%d: %s", bytes, got)
		}
	}
}

// TestJobOfVerification: BR reads the bucket alone. It needs neither PD nor a certificate of the cluster.
func TestJobOfVerification(t *testing.T) {
	r := request(t, backup.Asked{URL: "s3://b/p", Secret: "s3", Does: backup.Verifies, Backup: "monday"}, cluster(func(tc *v1alpha1.TidbCluster) {
		tc.Spec.TLSCluster = &v1alpha1.TLSCluster{Enabled: true}
	}))
	pod := r.Job().Spec.Template.Spec
	if len(pod.Volumes)+len(pod.InitContainers) > 0 || len(pod.Containers) != 1 || len(pod.Containers[0].VolumeMounts) > 0 {
		t.Errorf("%+v", pod)
	}
	if args := strings.Join(pod.Containers[0].Args, " "); args != "debug checksum --storage=s3://b/p" {
		t.Errorf("%s", args)
	}
}

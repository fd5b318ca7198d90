package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The server of S3 of the node, and what it takes without a configuration.
const (
	s3Image  = "kubectl-tidb/s3:v1.2.0"
	s3Bucket = "backups"
	s3Port   = 9000
	s3Access = "access"
	s3Key    = "secret"
	wrongKey = "wrong-key-of-the-test"
)

// TestBackup: a real BR writes the rows of a cluster to a real server of S3. The result is a Backup of tidb-operator, and
// nothing is left in Kubernetes and PD, whatever the end.
func TestBackup(t *testing.T) {
	s := newEnvironment(t, "e2e-backup")
	s.tidb(t, 0, "init") // the definition of Backup may be missing where that of TidbCluster is not
	s.tidb(t, 0, "create", cluster, "--version", from, "--storage", "1Gi", "--pd", "1", "--tikv", "1", "--tidb", "1")
	s.rows(t, "CREATE DATABASE app", "CREATE TABLE app.users (id INT PRIMARY KEY, name VARCHAR(64), KEY (name))", manyUsers())
	s.bucket(t)

	t.Run("wrong credentials", func(t *testing.T) {
		r := s.tidb(t, 3, "backup", cluster, "--to", s.at("wrong"), "--from-secret", "wrong")
		if !strings.Contains(r.Stderr, "kubectl describe secret wrong") || strings.Contains(r.Stderr, wrongKey) || strings.Count(r.Stderr, "error:") != 1 {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		s.wantNoBackupLeft(t, 0)
	})
	t.Run("bad input", func(t *testing.T) {
		s.tidb(t, 2, "backup", cluster, "--to", s.at("bad"))
		s.tidb(t, 3, "backup", cluster, "--to", s.at("bad"), "--from-secret", "none")
		s.tidb(t, 2, "backup", cluster, "--to", "ftp://host/bad", "--from-secret", "s3")
		s.tidb(t, 2, "backup", cluster, "--to", s.at("bad"), "--from-secret", "s3", "--db", "app", "--table", "app.users")
		s.tidb(t, 2, "backup", "none", "--to", s.at("bad"), "--from-secret", "s3")
		s.tidb(t, 3, "backup", cluster, "--to", s.at("bad"), "--from-secret", "s3", "--db", "none")
		s.wantNoBackupLeft(t, 0)
	})
	t.Run("a second one is refused, and a kill loses nothing", func(t *testing.T) {
		release := s.holdPods(t)
		first := s.plugin.Start(t.Context(), "backup", cluster, "--to", s.at("first"), "--from-secret", "s3")
		defer first.Close()
		poll(t, patience, "the Job of the backup exists", func(ctx context.Context) bool { return s.backupJobs(ctx, t) == 1 })
		r := s.tidb(t, 3, "backup", cluster, "--to", s.at("second"), "--from-secret", "s3")
		if !strings.Contains(r.Stderr, "has a backup under way already") {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		first.Close()
		release()
		r = s.tidb(t, 0, "backup", cluster, "--to", s.at("first"), "--from-secret", "s3", "-o", "json")
		var made struct {
			Name, CommitTS string
			SizeBytes      int64
		}
		if err := json.Unmarshal([]byte(r.Stdout), &made); err != nil || made.SizeBytes <= 0 || !strings.Contains(r.Stderr, "is followed") {
			t.Fatalf("%+v, %v, stderr %s", made, err, r.Stderr)
		}
		s.wantBackup(t, made.Name, "first")
		s.wantNoBackupLeft(t, 1)
	})
	t.Run("one table", func(t *testing.T) {
		r := s.tidb(t, 0, "backup", cluster, "--to", s.at("table"), "--from-secret", "s3", "--table", "app.users", "--rate-limit", "64")
		if !strings.Contains(r.Stdout, "is complete") || !strings.Contains(r.Stderr, "service safepoint br-") {
			s.errorf(t, "stdout %s, stderr %s", r.Stdout, r.Stderr)
		}
		s.wantNoBackupLeft(t, 2)
		s.tidb(t, 3, "backup", cluster, "--to", s.at("table"), "--from-secret", "s3")
	})
	t.Run("Kubernetes does not make the pod", func(t *testing.T) {
		r := s.tidb(t, 4, "backup", cluster, "--to", s.at("none"), "--service-account", "none", "--timeout", "15s")
		if !strings.Contains(r.Stderr, "Kubernetes could not make the pod: ") || !strings.Contains(r.Stderr, `serviceaccount "none" not found`) {
			s.errorf(t, "stderr %s", r.Stderr)
		}
		background := metav1.DeletePropagationBackground
		if err := s.Kube.BatchV1().Jobs(s.plugin.Namespace).Delete(t.Context(), cluster+"-br-backup", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
		s.wantNoBackupLeft(t, 2)
	})
	t.Run("others read the result", func(t *testing.T) {
		s.tidb(t, 0, "upgrade", cluster, to, "--require-backup-newer-than", "1h", "--dry-run=client")
		if r := s.tidb(t, 0, "backup", "list", cluster); strings.Count(r.Stdout, "Complete") != 2 {
			s.errorf(t, "%s", r.Stdout)
		}
	})
	t.Run("its files are intact", func(t *testing.T) {
		r := s.tidb(t, 0, "backup", "list", cluster, "-o", "jsonpath={.items[0].metadata.name}")
		name := strings.TrimSpace(r.Stdout)
		s.tidb(t, 3, "backup", "verify", name, "--from-secret", "wrong")
		if r = s.tidb(t, 0, "backup", "show", name, "-o", "jsonpath={.verified}"); r.Stdout != "" {
			s.errorf(t, "verified is %s", r.Stdout)
		}
		if r = s.tidb(t, 0, "backup", "verify", name); !strings.Contains(r.Stdout, name+" is intact as of ") || strings.Contains(r.Stdout, " 0 files") {
			s.errorf(t, "%s", r.Stdout)
		}
		if r = s.tidb(t, 0, "backup", "show", name, "-o", "jsonpath={.verified}"); !strings.HasPrefix(r.Stdout, "20") {
			s.errorf(t, "verified is %s", r.Stdout)
		}
		s.wantNoBackupLeft(t, 2)
	})
	s.drills(t)
	s.deletes(t)
	t.Run("schedules", s.schedules)
	s.restores(t)
}

// manyUsers is a statement with a hundred rows.
func manyUsers() string {
	var rows []string
	for n := range 100 {
		rows = append(rows, fmt.Sprintf("(%d, 'user %d')", n, n))
	}
	return "INSERT INTO app.users VALUES " + strings.Join(rows, ", ")
}

// rows runs statements.
func (s environment) rows(t *testing.T, statements ...string) {
	t.Helper()
	db, err := s.sql.Open(s.plugin.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// at returns the URL of a prefix.
func (s environment) at(prefix string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=http://s3.%s:%d&region=us-east-1&force-path-style=true", s3Bucket, prefix, s.plugin.Namespace, s3Port)
}

// bucket runs a server of S3 with a bucket, and makes Secrets with credentials.
func (s environment) bucket(t *testing.T) {
	t.Helper()
	labels := map[string]string{"app": "s3"}
	core := s.Kube.CoreV1()
	_, err := core.Pods(s.plugin.Namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "s3", Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "s3", Image: s3Image, ImagePullPolicy: corev1.PullIfNotPresent, Ports: []corev1.ContainerPort{{ContainerPort: s3Port}},
			ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(s3Port)}}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.Services(s.plugin.Namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s3"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: s3Port, TargetPort: intstr.FromInt32(s3Port)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"s3": s3Key, "wrong": wrongKey} {
		_, err = core.Secrets(s.plugin.Namespace).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"access_key": s3Access, "secret_key": key},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	poll(t, patience, "the server of S3 is ready", func(ctx context.Context) bool {
		pod, err := core.Pods(s.plugin.Namespace).Get(ctx, "s3", metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	})
}

// holdPods has no further pod be made until the returned function is called, so that a backup is under way for as long as
// a test wants.
func (s environment) holdPods(t *testing.T) (release func()) {
	t.Helper()
	quotas := s.Kube.CoreV1().ResourceQuotas(s.plugin.Namespace)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	poll(t, patience, "the quota counts", func(ctx context.Context) bool {
		q, err := quotas.Get(ctx, "none", metav1.GetOptions{})
		return err == nil && len(q.Status.Hard) > 0
	})
	return func() {
		t.Helper()
		if err := quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// backupJobs returns how many Jobs there are.
func (s environment) backupJobs(ctx context.Context, t *testing.T) int {
	t.Helper()
	jobs, err := s.Kube.BatchV1().Jobs(s.plugin.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Log(err)
		return -1
	}
	return len(jobs.Items)
}

// wantBackup asserts that a Backup is what tidb-operator and kubectl read of one that is complete.
func (s environment) wantBackup(t *testing.T, name, prefix string) {
	t.Helper()
	out, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "get", "backups.pingcap.com", name, "-o",
		"jsonpath={.status.phase} {.status.backupPath} {.status.backupSize} {.status.commitTs}")
	fields := strings.Fields(out)
	if err != nil || len(fields) != 4 {
		t.Fatalf("%q, %v", out, err)
	}
	size, _ := strconv.ParseInt(fields[2], 10, 64)
	ts, _ := strconv.ParseUint(fields[3], 10, 64)
	if fields[0] != "Complete" || fields[1] != "s3://"+s3Bucket+"/"+prefix || size <= 0 || ts == 0 {
		s.errorf(t, "%q", out)
	}
}

// wantNoBackupLeft asserts that there are so many Backups, and that no Job and no safepoint of BR is left.
func (s environment) wantNoBackupLeft(t *testing.T, backups int) {
	t.Helper()
	s.wantBackups(t, backups)
	client := s.pdClient()
	defer client.Close()
	points, err := client.ServiceSafePoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if strings.HasPrefix(p.ID, "br-") {
			s.errorf(t, "service safepoint %s is left in PD", p.ID)
		}
	}
}

// wantBackups asserts that there are so many Backups, and no Job.
func (s environment) wantBackups(t *testing.T, backups int) {
	t.Helper()
	if n := s.backupJobs(t.Context(), t); n != 0 {
		s.errorf(t, "%d Jobs are left", n)
	}
	out, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "get", "backups.pingcap.com", "-o", "name")
	if n := len(strings.Fields(out)); err != nil || n != backups {
		s.errorf(t, "%d Backups, want %d: %s, %v", n, backups, out, err)
	}
}

package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// schedules has a CronJob back up a cluster with the image of the plugin and the rights that the schedule gives to its pods.
func (s environment) schedules(t *testing.T) {
	if !shared.Local() {
		t.Skip("SKIPPED: only the local node can be given an image without a registry")
	}
	image, err := shared.LoadPlugin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	never := "0 0 1 1 *"                   // the test does not wait for it
	var first, second, killed, last string // runs
	schedule := func(t *testing.T, code int, args ...string) string {
		t.Helper()
		r := s.tidb(t, code, append([]string{"backup", "schedule", cluster, "--plugin-image", image, "--in", s.at("schedule"), "--from-secret", "s3"}, args...)...)
		return r.Stdout + r.Stderr
	}
	t.Run("what is refused leaves nothing", func(t *testing.T) {
		if text := schedule(t, 2, never, "--time-zone", "Nowhere/X"); !strings.Contains(text, "unknown time zone") {
			s.errorf(t, "%s", text)
		}
		s.tidb(t, 2, "backup", "schedule", cluster, "--remove")
		if text := schedule(t, 0, never, "--dry-run"); !strings.Contains(text, "would be made") {
			s.errorf(t, "%s", text)
		}
		s.wantSchedules(t)
	})
	t.Run("a run", func(t *testing.T) {
		schedule(t, 0, never, "--keep-last", "2")
		if text := schedule(t, 3, never, "--name", "weekly"); !strings.Contains(text, "has its backups in s3://"+s3Bucket+"/schedule already") {
			s.errorf(t, "%s", text)
		}
		first = s.runsSchedule(t, "first", func(*testing.T) {})
		s.wantRuns(t, first)
	})
	t.Run("a Job of the same name is another run", func(t *testing.T) {
		kubectl(t, "", "-n", s.plugin.Namespace, "delete", "job", "first")
		second = s.runsSchedule(t, "first", func(*testing.T) {})
		s.wantRuns(t, first, second)
	})
	t.Run("a pod of a run is killed", func(t *testing.T) {
		killed = s.runsSchedule(t, "killed", func(t *testing.T) {
			poll(t, patience, "BR has a Job", func(ctx context.Context) bool {
				_, err := s.Kube.BatchV1().Jobs(s.plugin.Namespace).Get(ctx, cluster+"-br-backup", metav1.GetOptions{})
				return err == nil
			})
			kubectl(t, "", "-n", s.plugin.Namespace, "delete", "pod", "-l", batchv1.JobNameLabel+"=killed", "--force", "--grace-period=0")
		})
		s.wantRuns(t, second, killed) // with the first one, which is too old
	})
	t.Run("old backups are deleted", func(t *testing.T) {
		if text := schedule(t, 0, never, "--keep-last", "1"); !strings.Contains(text, "is changed") {
			s.errorf(t, "%s", text)
		}
		last = s.runsSchedule(t, "last", func(*testing.T) {})
		s.wantRuns(t, last)
	})
	t.Run("doctor finds what makes no backup", func(t *testing.T) {
		finds := func(id string) {
			t.Helper()
			if r := s.plugin.Run(t.Context(), nil, "doctor", cluster, "-o", "json"); !strings.Contains(r.Stdout, id) {
				s.errorf(t, "%s: exit code %d, %s%s", id, r.Code, r.Stdout, r.Stderr)
			}
		}
		failed := `{"status":{"lastScheduleTime":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}}`
		kubectl(t, "", "-n", s.plugin.Namespace, "patch", "cronjob", cluster+"-backup", "--subresource=status", "--type=merge", "-p", failed)
		finds("backup-schedule-failed")
		schedule(t, 0, never, "--keep-last", "1", "--suspend")
		finds("backup-schedule-suspended")
	})
	t.Run("removal", func(t *testing.T) {
		s.tidb(t, 0, "backup", "schedule", cluster, "--remove")
		s.wantSchedules(t)
		poll(t, patience, "the Jobs are gone", func(ctx context.Context) bool { return s.backupJobs(ctx, t) == 0 })
		s.wantRuns(t, last)
		s.tidb(t, 0, "backup", "prune", cluster, "--in", s.at("none"), "--keep-within", "1ns", "--files", "--yes")
		s.tidb(t, 0, "backup", "delete", s.runsOf(t)[last], "--files", "--yes")
	})
}

// runsSchedule has the schedule run once, as "kubectl create job" does, and returns the run. It calls a function while the
// Job runs.
func (s environment) runsSchedule(t *testing.T, job string, meanwhile func(*testing.T)) (run string) {
	t.Helper()
	kubectl(t, "", "-n", s.plugin.Namespace, "create", "job", "--from=cronjob/"+cluster+"-backup", job)
	meanwhile(t)
	kubectl(t, "", "-n", s.plugin.Namespace, "wait", "--for=condition=complete", "--timeout="+patience.String(), "job/"+job)
	return kubectl(t, "", "-n", s.plugin.Namespace, "get", "job", job, "-o", "jsonpath={.metadata.uid}")
}

// runsOf returns the Backups of schedules, by the run that has made them.
func (s environment) runsOf(t *testing.T) map[string]string {
	t.Helper()
	out, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "get", "backups.pingcap.com", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Items []struct{ Metadata metav1.ObjectMeta }
	}
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	runs := map[string]string{}
	for _, b := range all.Items {
		if run := b.Metadata.Annotations["kubectl-tidb/run"]; run != "" {
			if runs[run] != "" {
				s.errorf(t, "run %s has made backups %s and %s", run, runs[run], b.Metadata.Name)
			}
			runs[run] = b.Metadata.Name
		}
	}
	return runs
}

// wantRuns asserts which runs have a Backup.
func (s environment) wantRuns(t *testing.T, want ...string) {
	t.Helper()
	got := s.runsOf(t)
	for _, run := range want {
		if got[run] == "" {
			s.errorf(t, "run %s has no backup: %v", run, got)
		}
	}
	if len(got) != len(want) {
		s.errorf(t, "%v, want %v", got, want)
	}
}

// wantSchedules asserts that no object of a schedule exists.
func (s environment) wantSchedules(t *testing.T) {
	t.Helper()
	out, err := s.Kubectl(t.Context(), "", "-n", s.plugin.Namespace, "get", "cronjobs,serviceaccounts,roles,rolebindings", "-l", "kubectl-tidb/scheduled-cluster", "-o", "name")
	if err != nil || out != "" {
		s.errorf(t, "%s, %v", out, err)
	}
}

package backup

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/test/plantest"
)

// scheduled returns the schedule that flags ask for, and what is wrong with it.
func scheduled(t *testing.T, cron string, args ...string) (wantedSchedule, error) {
	t.Helper()
	o := scheduleOptions{cluster: []string{"basic"}, cron: cron}
	cmd := &cobra.Command{}
	o.bind(cmd, factory.New(genericiooptions.NewTestIOStreamsDiscard(), func(string) string { return "" }, "v1.2.3"))
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	err := o.validate(false)
	return wantedSchedule{scheduleOptions: o, cluster: topology.New(basic()), plugin: "kubectl-tidb:v1.2.3"}, err
}

// TestScheduleObjects: what "backup schedule" makes, with the rights of the two verbs that its pods run.
func TestScheduleObjects(t *testing.T) {
	for file, args := range map[string][]string{
		"schedule": {"--in", "s3://b/p?endpoint=http://h:9000", "--from-secret", "s3", "--keep-last", "14", "--keep-within", "168h"},
		"schedule-keeps-all": {
			"--in", "s3://b/$(X)", "--service-account", "writer", "--name", "weekly", "--time-zone", "Europe/Berlin", "--suspend",
			"--deadline", "2h", "--start-within", "10m", "--rate-limit", "64", "--image", "registry.example/br:v8.1.0",
		},
	} {
		wanted, err := scheduled(t, "0 3 * * *", args...)
		if err != nil {
			t.Fatal(err)
		}
		text, err := output.Document(wanted.objects())
		if err != nil {
			t.Fatal(err)
		}
		plantest.Golden(t, file+".yaml", text)
	}
}

func TestScheduleInput(t *testing.T) {
	good := []string{"--in", "s3://b/p", "--from-secret", "s3"}
	for _, c := range []struct {
		cron string
		args []string
		says string
	}{
		{"0 3 * * *", good, ""},
		{"@weekly", good, ""},
		{"0 3 * *", good, `CRON "0 3 * *" is no schedule of minute, hour, day, month and day of the week`},
		{"61 3 * * *", good, "is no schedule"},
		{"@every 24h", good, `CRON "@every 24h" has no times`},
		{"0 3 * * *", []string{"--in", "s3://b/p//q"}, "--in: s3://b/p//q has empty folders or dots"},
		{"0 0 30 2 *", good, `CRON "0 0 30 2 *" never comes`},
		{"TZ=Europe/Berlin 0 3 * * *", good, "give it with --time-zone"},
		{"0 3 * * *", nil, "say where the backups are to be, with --in"},
		{"0 3 * * *", []string{"--in", "s3://b"}, "--in: s3://b has no prefix"},
		{"0 3 * * *", append([]string{"--keep-last=-1"}, good...), "must not be negative"},
		{"0 3 * * *", append([]string{"--deadline=0"}, good...), "--deadline has to be at least 1s"},
		{"0 3 * * *", append([]string{"--name=A"}, good...), `--name "A" is no name for objects`},
		{"0 3 * * *", append([]string{"--name=" + strings.Repeat("a", 47)}, good...), "which has at most 52 characters"},
		{"0 3 * * *", append([]string{"--plugin-image=a b"}, good...), "--plugin-image"},
		{"0 3 * * *", []string{"--remove"}, "--remove goes without CRON"},
		{"", []string{"--remove"}, ""},
	} {
		_, err := scheduled(t, c.cron, c.args...)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%q %q: %v", c.cron, c.args, err)
		case c.says != "" && (exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%q %q: %v does not say %q", c.cron, c.args, err, c.says)
		}
	}
}

func TestNextRun(t *testing.T) {
	for zone, want := range map[string]string{"Etc/UTC": "2026-03-11T03:00:00Z", "Asia/Tokyo": "2026-03-10T18:00:00Z", "Nowhere": "0001-01-01T00:00:00Z"} {
		if got := nextRun("0 3 * * *", zone, now).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", zone, got, want)
		}
	}
}

// TestRun: each run of a schedule makes one backup, in a folder of its own. A second attempt makes no second one.
func TestRun(t *testing.T) {
	w := newWorld(secret("access_key", "secret_key"))
	w.asked.In, w.asked.URL, w.asked.Run = "s3://b/p", "s3://b/p", "slot-1"
	for attempt, says := range []string{"to s3://b/p/basic-20260310-120000: job", "run slot-1 has made backup basic-20260310-120000 before"} {
		w.err.Reset()
		w.out.Reset()
		if err := w.make(t.Context(), t); err != nil || !strings.Contains(w.err.String(), says) || !strings.Contains(w.out.String(), "basic-20260310-120000 is complete") {
			t.Errorf("attempt %d: %v: %s%s", attempt, err, w.out.String(), w.err.String())
		}
	}
	w.asked.Run = "slot-2"
	w.later = time.Minute
	if err := w.make(t.Context(), t); err != nil {
		t.Error(err)
	}
	if got := w.left(t); strings.Count(got, "backup/") != 2 || strings.Contains(got, "job/") {
		t.Error(got)
	}
}

// TestRunUnderWay: a second attempt follows the Job of the first one. Another run is refused.
func TestRunUnderWay(t *testing.T) {
	for run, says := range map[string]string{"slot-1": "backup basic-earlier is under way already, and is followed", "slot-2": "backup basic-earlier has ended, and is concluded first"} {
		w := newWorld(secret("access_key", "secret_key"))
		w.asked.In, w.asked.URL, w.asked.Run = "s3://b/p", "s3://b/p", run
		earlier := w.asked
		earlier.URL, earlier.Run = "s3://b/p/basic-earlier", "slot-1"
		w.begun(t, earlier)
		if err := w.make(t.Context(), t); err != nil || !strings.Contains(w.err.String(), says) {
			t.Errorf("%s: %v: %s", run, err, w.err.String())
		}
	}
	w := newWorld(secret("access_key", "secret_key"))
	w.asked.In, w.asked.URL, w.asked.Run = "s3://b/p", "s3://b/p", "slot-2"
	earlier := w.asked
	earlier.URL, earlier.Run = "s3://b/p/basic-earlier", "slot-1"
	w.runs = true
	w.begun(t, earlier)
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "has a backup under way already") {
		t.Error(err)
	}
}

// TestDeadline: Kubernetes ends a backup that takes too long, and its pod is gone then.
func TestDeadline(t *testing.T) {
	w := newWorld(secret("access_key", "secret_key"))
	w.asked.In, w.asked.URL, w.asked.Deadline = "s3://b/p", "s3://b/p/basic-earlier", 7200
	w.fails = true
	w.begun(t, w.asked)
	job, err := w.kube.BatchV1().Jobs("db").Get(t.Context(), "basic-br-backup", metav1.GetOptions{})
	if err != nil || *job.Spec.ActiveDeadlineSeconds != 7200 {
		t.Fatalf("%v: %+v", err, job)
	}
	job.Status.Conditions[0].Reason = batchv1.JobReasonDeadlineExceeded
	if _, err := w.kube.BatchV1().Jobs("db").UpdateStatus(t.Context(), job, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Failure || !strings.Contains(err.Error(), "it has not ended within its deadline of 2h0m0s") {
		t.Error(err)
	}
}

// TestFailedRun: a backup of a run that has failed ends with a code of its own, by which Kubernetes begins no other attempt.
func TestFailedRun(t *testing.T) {
	w := newWorld(secret("access_key", "secret_key"))
	w.asked.In, w.asked.URL, w.asked.Run = "s3://b/p", "s3://b/p", "1"
	w.fails, w.log = true, denied
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Aborted || !strings.Contains(err.Error(), "is not accessible") {
		t.Errorf("%d: %v", exit.Of(err), err)
	}
}

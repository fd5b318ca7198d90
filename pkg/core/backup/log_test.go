package backup_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// began are lines that BR writes before it saves, in releases of 2020 and of today.
const began = `[2026/03/10 02:00:00.101 +00:00] [INFO] [info.go:40] ["Welcome to Backup & Restore (BR)"] [release-version=v8.1.0] [race-enabled=false]
[2026/03/10 02:00:00.102 +00:00] [INFO] [common.go:422] [arguments] [pd="[basic-pd:2379]"] [storage=s3://backups/basic]
[2026/03/10 02:00:00.310 +00:00] [INFO] [client.go:127] ["backup encode timestamp"] [BackupTS=464770000000000000]
[2026/03/10 02:00:00.311 +00:00] [INFO] [backup.go:210] ["current backup safePoint job"] [safePoint="{ID=br-0f3a7c1e-5b52-4f6a-9a52-5d1c0e0f8a11,TTL=5m0s,BackupTime=\"2026-03-10 02:00:00.1 +0000 UTC\",BackupTS=464770000000000000}"]
`

const saves = `[2026/03/10 02:00:01.000 +00:00] [INFO] [client.go:479] ["backup started"] [StartKey=7480000000000000FF3F00000000000000F8] [RateLimit=0] [Concurrency=4]
[2026/03/10 02:00:02.000 +00:00] [INFO] [client.go:473] ["backup range finished"] [take=1.0s]
[2026/03/10 02:00:03.000 +00:00] [INFO] [client.go:473] ["backup range finished"] [take=2.0s]
`

const half = `[2026/03/10 02:02:00.000 +00:00] [INFO] [progress.go:140] [progress] [step="Full backup"] [progress=12.50%] [count="1 / 8"] [speed="0.0083 p/s"] [elapsed=2m0s] [remaining=14m0s]
`

const done2020 = `[2026/03/10 02:04:00.000 +00:00] [INFO] [collector.go:187] ["Full backup Success summary: total backup ranges: 6, total success: 6, total failed: 0, total take(Full backup time): 4.5s, total take(real time): 4m0s, total kv: 10, total size(Byte): 371, avg speed(Byte/s): 82.10"] ["backup checksum"=2.1ms] ["backup fast checksum"=21µs] ["backup total regions"=6] [BackupTS=464770000000000000] [Size=7235]
`

const done8 = `[2026/03/10 02:04:00.000 +00:00] [INFO] [collector.go:77] ["Full Backup success summary"] [total-ranges=6] [ranges-succeed=6] [ranges-failed=0] [backup-checksum=2.1ms] [backup-total-ranges=6] [backup-total-regions=6] [BackupTS=464770000000000000] [Size=7235] [total-take=4m0s] [backup-data-size(after-compressed)=7.235kB] [total-kv=10] [total-kv-size=371B] [average-speed=82B/s]
`

const nothing2020 = `[2026/03/10 02:00:01.000 +00:00] [INFO] [collector.go:157] ["Full backup Failed summary : total backup ranges: 0, total success: 0, total failed: 0"] [BackupTS=464770000000000000]
`

const denied = `[2026/03/10 02:00:00.401 +00:00] [ERROR] [backup.go:28] ["failed to backup"] [error="Bucket backups is not accessible: InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.\n\tstatus code: 403, request id: , host id: : [BR:ExternalStorage:ErrStorageInvalidConfig]invalid external storage config"] [errorVerbose="[BR:ExternalStorage:ErrStorageInvalidConfig]invalid\ngithub.com/pingcap/br/x"] [stack="github.com/pingcap/br/cmd.runBackupCommand"]
Error: Bucket backups is not accessible: InvalidAccessKeyId: AKIASECRET
`

func logOf(parts ...string) backup.Log {
	var l backup.Log
	for line := range strings.Lines(strings.Join(parts, "")) {
		l.Add(line)
	}
	return l
}

// TestLog: what a person wants to know is read from the log of BR, of each release.
func TestLog(t *testing.T) {
	l := logOf(began)
	if l.SafePoint != "br-0f3a7c1e-5b52-4f6a-9a52-5d1c0e0f8a11" || l.TS != 464770000000000000 || l.Line() != "" || l.Sized {
		t.Errorf("%+v", l)
	}
	if at := l.Time(); at.Sub(time.UnixMilli(464770000000000000>>18)) != 0 {
		t.Errorf("data of %s", at)
	}
	if l = logOf(began, saves); l.Line() != "2 ranges of keys are saved" {
		t.Errorf("%q", l.Line())
	}
	if l = logOf(began, saves, half); l.Line() != "Full backup: 12.50% (1 / 8), rate 0.0083 p/s, elapsed 2m0s, remaining 14m0s" {
		t.Errorf("%q", l.Line())
	}
	if l = logOf(strings.ReplaceAll(half, `"0.0083 p/s"`, `"? p/s"`)); strings.Contains(l.Line(), "rate") {
		t.Errorf("an unknown rate is shown: %q", l.Line())
	}
	for _, done := range []string{done2020, done8} {
		if l = logOf(began, saves, half, done); !l.Sized || l.Size != 7235 || l.TS != 464770000000000000 || l.Error != "" {
			t.Errorf("%+v", l)
		}
	}
	if l = logOf(began, nothing2020); l.Sized || l.TS == 0 {
		t.Errorf("nothing was saved: %+v", l)
	}
	if l = logOf(began, denied); !strings.HasPrefix(l.Error, "Bucket backups is not accessible") || backup.CauseOf(l.Error) != backup.Storage {
		t.Errorf("%+v", l)
	}
	for _, line := range []string{"", "[", "[]", "[a] [b] [c]", `[2026] [INFO] [x] ["unfinished`, "Detail BR log in /tmp/br.log", strings.Repeat("[", 1000)} {
		if l = logOf(line); l != (backup.Log{}) {
			t.Errorf("%q: %+v", line, l)
		}
	}
}

// TestEndVersion: the timestamp is a line of its own, and no number of a log entry.
func TestEndVersion(t *testing.T) {
	for _, line := range strings.Split(began, "\n") {
		if got := backup.EndVersion(line); got != 0 {
			t.Errorf("%s: %d", line, got)
		}
	}
	if got := backup.EndVersion("464770000000000000\n"); got != 464770000000000000 {
		t.Errorf("%d", got)
	}
}

// TestCauseOf: errors of BR and of S3 have a cause that a person can do something about.
func TestCauseOf(t *testing.T) {
	for text, want := range map[string]backup.Cause{
		"backup meta exists, may be some backup files in the path already: [BR:Common:ErrInvalidArgument]invalid argument": backup.Used,
		"backup lock exists, may be some backup files in the path already":                                                 backup.Used,
		"error occurred when checking bucket: AccessDenied: Access Denied\n\tstatus code: 403":                             backup.Storage,
		"running BR in incompatible version of cluster, if you believe it's OK, use --check-requirements=false to skip.":   backup.Version,
		"GC safepoint 5 exceed TS 4: [BR:Backup:ErrBackupGCSafepointExceeded]":                                             backup.Collected,
		"backup checksum mismatch":  backup.Damaged,
		"context deadline exceeded": backup.Unexplained,
	} {
		if got := backup.CauseOf(text); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestSpoken: an error is one line without the values of Secrets.
func TestSpoken(t *testing.T) {
	got := backup.Spoken("GET http://h/b?access-key=OTHER&x=1:\n\tkey AKIASECRET is wrong "+strings.Repeat("ä", 400), "AKIASECRET", "")
	if strings.Contains(got, "SECRET") || strings.Contains(got, "OTHER") || strings.Contains(got, "\n") || len(got) > 410 || !strings.Contains(got, "x=1: key … is wrong") {
		t.Errorf("%q", got)
	}
	// One value begins with the other one, and both come from files.
	if got := backup.Spoken("keys minio123 and minio and a/b and a%2Fb", "minio\n", "minio123\n", "a/b"); got != "keys … and … and … and …" {
		t.Errorf("%q", got)
	}
}

// pod returns a pod whose container that saves is in a state.
func pod(name string, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{Name: name, State: state}}}}
}

// TestWaits: what a pod waits for is said, and what no waiting helps against has a cause.
func TestWaits(t *testing.T) {
	waiting := func(reason, message string) *corev1.Pod {
		return pod(backup.ContainerBR, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
	}
	unplaced := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no memory"}}}}
	for _, c := range []struct {
		pod     *corev1.Pod
		refusal backup.Refusal
		text    string
		cause   backup.Cause
	}{
		{nil, backup.Refusal{}, "no pod was made yet", backup.NotStarted},
		{nil, backup.Refusal{Text: "exceeded quota"}, "Kubernetes could not make the pod, and tries again: exceeded quota", backup.NotStarted},
		{nil, backup.Refusal{Text: "policy", Final: true}, "Kubernetes could not make the pod: policy", backup.NoPod},
		{unplaced, backup.Refusal{}, "no node takes the pod: no memory", backup.NoPlace},
		{waiting("ImagePullBackOff", "back-off"), backup.Refusal{}, "ImagePullBackOff: back-off", backup.NoImage},
		{waiting("CreateContainerConfigError", `secret "s3" not found`), backup.Refusal{}, `CreateContainerConfigError: secret "s3" not found`, backup.NoSecret},
		{waiting("ContainerCreating", ""), backup.Refusal{}, "the pod starts", backup.Unexplained},
		{pod(backup.ContainerBR, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), backup.Refusal{}, "", backup.Unexplained},
		{pod(backup.ContainerBR, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), backup.Refusal{}, "", backup.Unexplained},
	} {
		if text, cause := backup.Waits(c.pod, c.refusal); text != c.text || cause != c.cause {
			t.Errorf("%q, %q, want %q, %q", text, cause, c.text, c.cause)
		}
	}
}

// TestFailureOf: the reason of a failure is that of BR, or of Kubernetes where BR gives none.
func TestFailureOf(t *testing.T) {
	ended := func(code int32, reason string) *corev1.Pod {
		return pod(backup.ContainerBR, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}})
	}
	evicted := ended(137, "Error")
	evicted.Status.Reason, evicted.Status.Message = "Evicted", "low on disk"
	for _, c := range []struct {
		pod         *corev1.Pod
		log, result backup.Log
		text        string
		cause       backup.Cause
	}{
		{ended(1, "Error"), logOf(denied), backup.Log{}, "BR says: Bucket backups is not accessible", backup.Storage},
		{ended(137, "OOMKilled"), backup.Log{}, backup.Log{}, "BR needed more memory", backup.NoMemory},
		{ended(0, "Completed"), backup.Log{}, backup.Log{Error: "load backupmeta failed: NoSuchKey"}, "no complete backup was found afterwards: load backupmeta", backup.Unreadable},
		{evicted, backup.Log{}, backup.Log{}, "Kubernetes has ended its pod: Evicted: low on disk", backup.Unexplained},
		{nil, backup.Log{}, backup.Log{}, "its pod is gone", backup.Unexplained},
		{ended(1, "Error"), backup.Log{}, backup.Log{}, "gives no reason", backup.Unexplained},
	} {
		if text, cause := backup.FailureOf(c.pod, c.log, c.result); !strings.Contains(text, c.text) || cause != c.cause {
			t.Errorf("%q, %q, want %q, %q", text, cause, c.text, c.cause)
		}
	}
}

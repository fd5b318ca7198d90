package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

const (
	point  = "br-0f3a7c1e-5b52-4f6a-9a52-5d1c0e0f8a11"
	ts     = "464770000000000000"
	hidden = "AKIASECRET"

	began = `[2026/03/10 02:00:00.311 +00:00] [INFO] [backup.go:210] ["current backup safePoint job"] [safePoint="{ID=` + point + `,TTL=5m0s,BackupTS=` + ts + `}"]
[2026/03/10 02:02:00.000 +00:00] [INFO] [progress.go:140] [progress] [step="Full backup"] [progress=12.50%] [count="1 / 8"] [speed="0.01 p/s"] [elapsed=2m0s] [remaining=14m0s]
`
	whole   = began + `[2026/03/10 02:04:00.000 +00:00] [INFO] [collector.go:77] ["Full Backup success summary"] [BackupTS=` + ts + `] [Size=7235]` + "\n"
	nothing = began + `[2026/03/10 02:04:00.000 +00:00] [INFO] [collector.go:157] ["Database backup Failed summary : total backup ranges: 0"] [BackupTS=` + ts + `]` + "\n"
	denied  = "Error: Bucket b is not accessible: InvalidAccessKeyId: " + hidden + "\n\tstatus code: 403\n"
	used    = "Error: backup meta exists, may be some backup files in the path already\n"
)

var now = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// make runs "backup create".
func (w *world) make(ctx context.Context, t *testing.T) error {
	t.Helper()
	if w.dyn == nil {
		w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"}, w.backups...)
	}
	f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(w.answer), Out: &w.out, ErrOut: &w.err}, func(string) string { return "" }, "")
	d, err := backup.ParseDestination(w.asked.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{options: options{asked: w.asked, destination: d, dryRun: w.dryRun}, work: w.work(f)}
	return r.make(ctx)
}

func credentials() *corev1.Secret { return secret(backup.KeyAccess, backup.KeySecret) }

const earlier = "job/basic-earlier"

// TestMake: a backup is recorded when it is read back, and nothing is left of its Job in any case.
func TestMake(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		code   exit.Code
		says   string
		left   string
	}{
		"complete":      {func(*world) {}, exit.OK, "", "backup/basic-20260310-120000"},
		"nothing in it": {func(w *world) { w.log = nothing }, exit.OK, "", "backup/basic-20260310-120000"},
		"no such database": {func(w *world) { w.log, w.asked.DB = nothing, "app" }, exit.Refused,
			"has failed: nothing was saved: database app does not exist, or has no table; see the databases: kubectl tidb sql basic -e 'SHOW DATABASES' -n db", ""},
		"wrong credentials": {func(w *world) { w.log, w.fails = denied, true }, exit.Refused,
			"InvalidAccessKeyId: …; see which keys the Secret has: kubectl describe secret s3 -n db", "safepoint"}, // not that of this BR
		"used": {func(w *world) { w.log, w.fails = began+used, true }, exit.Refused,
			"write to another prefix: kubectl tidb backup create basic --to s3://b/p-20260310-120000 --from-secret s3 -n db", ""},
		"it breaks":     {func(w *world) { w.log, w.fails = began+"Error: context deadline exceeded\n", true }, exit.Failure, "BR says: context deadline exceeded", ""},
		"ended by TERM": {func(w *world) { w.log, w.result, w.fails = began, "", true }, exit.Failure, "gives no reason", ""},
		"no timestamp":  {func(w *world) { w.result = "field 'x' not found\n" }, exit.Refused, "no timestamp was read", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(credentials())
			c.change(w)
			err := w.make(t.Context(), t)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, %v; want %d, %q", exit.Of(err), err, c.code, c.says)
			}
			if got := w.left(t); got != c.left {
				t.Errorf("left are %q, want %q", got, c.left)
			}
			if all := w.out.String() + w.err.String() + remedy.Text(errors.Join(err, errors.New("")), ""); strings.Contains(all, hidden) {
				t.Errorf("the value of a Secret is shown: %s", all)
			}
		})
	}
}

// TestRecorded: the Backup is what tidb-operator and others read.
func TestRecorded(t *testing.T) {
	w := newWorld(credentials())
	if err := w.make(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	got, err := w.dyn.Resource(edge.Resource).Namespace("db").Get(t.Context(), "basic-20260310-120000", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"status.phase": "Complete", "status.commitTs": ts, "status.backupPath": "s3://b/p", "spec.br.cluster": "basic", "spec.toolImage": "pingcap/br:v8.1.0",
	} {
		if text, _, _ := unstructured.NestedString(got.Object, strings.Split(path, ".")...); text != want {
			t.Errorf("%s is %q, want %q", path, text, want)
		}
	}
	if size, _, _ := unstructured.NestedInt64(got.Object, "status", "backupSize"); size != 7235 {
		t.Errorf("size %d", size)
	}
	if !strings.Contains(w.out.String(), "backup.pingcap.com/basic-20260310-120000 is complete: 7.2 kB at s3://b/p, with the data of ") {
		t.Errorf("%q", w.out.String())
	}
}

// TestRefused: what cannot succeed is refused before anything is made.
func TestRefused(t *testing.T) {
	holder := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "db", "name": "monday"},
		"spec": map[string]any{"s3": map[string]any{"bucket": "b", "provider": ""}}, "status": map[string]any{"backupPath": "s3://b/p"},
	}}
	for name, c := range map[string]struct {
		objects []runtime.Object
		change  func(*world)
		code    exit.Code
		says    string
	}{
		"no credentials": {nil, func(w *world) { w.asked.Secret = "" }, exit.Usage, "give a Secret with --from-secret, or a ServiceAccount"},
		"no Secret":      {nil, func(*world) {}, exit.Refused, "there is no secret s3 in namespace db"},
		"no key":         {[]runtime.Object{secret(backup.KeyAccess)}, func(*world) {}, exit.Refused, "has no key secret_key"},
		"PD is silent":   {[]runtime.Object{credentials()}, func(w *world) { w.silent = true }, exit.Failure, "BR would wait for it without an end; nothing was changed"},
		"the path is used": {[]runtime.Object{credentials()}, func(w *world) { w.backups = []runtime.Object{holder} }, exit.Refused,
			"s3://b/p has a backup already, db/monday; nothing was changed; write to another prefix: kubectl tidb backup create basic --to s3://b/p-2026"},
		"no definition": {[]runtime.Object{credentials()}, func(w *world) {
			w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"})
			w.dyn.PrependReactor("list", "backups", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
			})
		}, exit.Refused, "install their definition: kubectl tidb init"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.objects...)
			c.change(w)
			err := w.make(t.Context(), t)
			if exit.Of(err) != c.code || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), hidden) {
				t.Errorf("exit code %d, %v; want %d, %q", exit.Of(err), err, c.code, c.says)
			}
			for _, a := range w.kube.Actions() {
				if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
					t.Errorf("changed something: %s %s", a.GetVerb(), a.GetResource().Resource)
				}
			}
		})
	}
}

// TestDryRun: a dry run says what would be done, and makes nothing.
func TestDryRun(t *testing.T) {
	for _, d := range []flags.DryRun{flags.ClientDryRun, flags.ServerDryRun} {
		w := newWorld(credentials())
		w.dryRun = d
		if err := w.make(t.Context(), t); err != nil {
			t.Fatal(err)
		}
		if got := w.left(t); got != "safepoint" || !strings.Contains(w.out.String(), "arguments of BR: backup full --pd=basic-pd:2379 --storage=s3://b/p\n") {
			t.Errorf("left are %q, stdout %q", got, w.out.String())
		}
	}
}

// TestSecond: the same command follows a backup that is under way, and another one is refused. A Job that has ended is
// concluded by either.
func TestSecond(t *testing.T) {
	mine := backup.Asked{URL: "s3://b/p", Secret: "s3"}
	other := backup.Asked{URL: "s3://b/other", Secret: "s3"}
	w := newWorld(credentials())
	w.runs = true
	w.begun(t, other)
	err := w.make(t.Context(), t)
	if says := "has a backup under way already: basic-earlier of all data to s3://b/other, since 2026-03-10T12:00:00Z; nothing was changed; " +
		"follow it: kubectl tidb backup create basic --to s3://b/other --from-secret s3 -n db; or give it up: kubectl delete job basic-br-backup -n db"; exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), says) {
		t.Errorf("%v", err)
	}
	if got := w.left(t); got != earlier+" safepoint" {
		t.Errorf("left are %q", got)
	}

	w = newWorld(credentials())
	w.begun(t, mine)
	if err := w.make(t.Context(), t); err != nil || w.left(t) != "backup/basic-earlier" || !strings.Contains(w.err.String(), "basic-earlier is under way already, and is followed") {
		t.Errorf("%v, left are %q, stderr %q", err, w.left(t), w.err.String())
	}

	w = newWorld(credentials())
	w.begun(t, other)
	if err := w.make(t.Context(), t); err != nil || w.left(t) != "backup/basic-20260310-120000 backup/basic-earlier" {
		t.Errorf("%v, left are %q", err, w.left(t))
	}

	w = newWorld(credentials(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-br-backup"}})
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "kubectl describe job basic-br-backup -n db") {
		t.Errorf("a Job of others: %v", err)
	}
}

// TestInterrupted: an interrupt asks whether the backup is to be cancelled. After a cancellation nothing is left in PD
// and Kubernetes.
func TestInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		cause  error
		answer string
		code   exit.Code
		left   string
		says   string
	}{
		"it goes on":       {exit.ErrInterrupted, "n\n", exit.Interrupted, "job/basic-20260310-120000 safepoint", "follow it: kubectl tidb backup create basic --to s3://b/p"},
		"no answer":        {exit.ErrInterrupted, "", exit.Interrupted, "job/basic-20260310-120000 safepoint", "goes on; follow it"},
		"it is cancelled":  {exit.ErrInterrupted, "y\n", exit.Aborted, "", "service safepoint " + point + " is deleted in PD"},
		"the time is over": {exit.ErrTimedOut, "y\n", exit.TimedOut, "job/basic-20260310-120000 safepoint", "Full backup: 12.50% (1 / 8), rate 0.01 p/s, elapsed 2m0s, remaining 14m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(credentials())
			w.runs, w.log, w.answer = true, began, c.answer
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-w.read
				cancel(c.cause)
			}()
			err := w.make(ctx, t)
			if exit.Of(err) != c.code || !strings.Contains(w.err.String(), c.says) || !strings.Contains(w.err.String(), point) {
				t.Errorf("exit code %d, %v, stderr %q", exit.Of(err), err, w.err.String())
			}
			if got := w.left(t); got != c.left {
				t.Errorf("left are %q, want %q", got, c.left)
			}
		})
	}
}

// TestConcludedByAnother: of two commands that follow the same backup one records it, and the other says so.
func TestConcludedByAnother(t *testing.T) {
	w := newWorld(credentials())
	w.runs, w.log = true, began
	w.backups = []runtime.Object{&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "db", "name": "basic-earlier"},
		"spec":   map[string]any{"br": map[string]any{"cluster": "basic"}},
		"status": map[string]any{"phase": "Complete", "backupPath": "s3://b/p", "commitTs": ts, "backupSizeReadable": "7.2 kB"},
	}}}
	w.begun(t, w.asked)
	looked := 0
	w.kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		if looked++; looked == 2 {
			_ = w.kube.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), "db", "basic-br-backup")
		}
		return false, nil, nil
	})
	if err := w.make(t.Context(), t); err != nil || !strings.Contains(w.out.String(), "basic-earlier is complete: 7.2 kB at s3://b/p") {
		t.Errorf("%v, stdout %q", err, w.out.String())
	}
}

// TestSafePointStays: where Kubernetes has given up a pod on a node that is lost, BR may run and need its safepoint.
func TestSafePointStays(t *testing.T) {
	w := newWorld(credentials())
	w.runs, w.log = true, began
	w.begun(t, w.asked)
	w.kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		job, err := w.kube.Tracker().Get(batchv1.SchemeGroupVersion.WithResource("jobs"), "db", "basic-br-backup")
		if err != nil {
			return true, nil, err
		}
		job.(*batchv1.Job).Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		return true, job, nil
	})
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Failure || w.left(t) != "safepoint" {
		t.Errorf("%v, left are %q", err, w.left(t))
	}
}

// TestCannotStart: a pod whose image is not there is given up after a while, and nothing is left.
func TestCannotStart(t *testing.T) {
	w := newWorld(credentials())
	w.runs, w.later = true, time.Minute
	w.begun(t, w.asked)
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	p, err := w.kube.Tracker().Get(pods, "db", "pod")
	if err != nil {
		t.Fatal(err)
	}
	p.(*corev1.Pod).Status.InitContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}
	if err := w.kube.Tracker().Update(pods, p, "db"); err != nil {
		t.Fatal(err)
	}
	err = w.make(t.Context(), t)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "its pod cannot start: ImagePullBackOff: no such image; give an image of BR that fits with --image") {
		t.Errorf("%v", err)
	}
	if got := w.left(t); got != "safepoint" { // not that of this BR, which has not run
		t.Errorf("left are %q", got)
	}
}

package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

const intactLog = `[2026/03/10 02:00:00.000 +00:00] [INFO] [debug.go:87] ["file info"] [table=users] [file=1_2.sst]
[2026/03/10 02:00:01.000 +00:00] [INFO] [debug.go:87] ["file info"] [table=users] [file=1_3.sst]
backup data checksum succeed!
`

// before is when the backup was found intact before.
const before = "2026-03-01T00:00:00Z"

// damagedLog is how BR ends at a file that is not as it was. The text of its error begins with a new line.
const damagedLog = `[2026/03/10 02:00:00.000 +00:00] [INFO] [debug.go:87] ["file info"] [table=users] [file=1_2.sst]
Error: 
backup data checksum failed: 1_2.sst may be changed
calculated sha256 is 1,
origin sha256 is 2
`

// verify runs "backup verify monday".
func (w *world) verify(ctx context.Context, t *testing.T) error {
	t.Helper()
	of := saved("monday", "pingcap/br:v8.1.0", 7)
	of.SetUID("1")
	of.SetAnnotations(map[string]string{backup.AnnotationVerified: before})
	w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"}, of)
	var b v1alpha1.Backup
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(of.Object, &b); err != nil {
		t.Fatal(err)
	}
	f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(w.answer), Out: &w.out, ErrOut: &w.err}, func(string) string { return "" }, "")
	r := &verification{verifyOptions: verifyOptions{name: "monday", dryRun: w.dryRun}, work: w.work(f), backup: b}
	return r.make(ctx)
}

// recordedAt returns when the Backup was found intact.
func (w *world) recordedAt(t *testing.T) string {
	t.Helper()
	return w.annotation(t, backup.AnnotationVerified)
}

// annotation returns an annotation of the Backup.
func (w *world) annotation(t *testing.T, key string) string {
	t.Helper()
	b, err := w.dyn.Resource(edge.Resource).Namespace("db").Get(t.Context(), "monday", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b.GetAnnotations()[key]
}

// TestVerify: a backup is intact if BR says so itself, and only then the Backup says so.
func TestVerify(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*world)
		code     exit.Code
		says     string
		recorded string
	}{
		"intact": {func(*world) {}, exit.OK, "", "2026-03-10T12:01:00Z"},
		"ended by TERM": {func(w *world) { w.log = "" }, exit.Failure,
			"backup monday at s3://b/p is not known to be intact: BR has ended without saying that all files are intact", before},
		"no file": {func(w *world) { w.log = "backup data checksum succeed!\n" }, exit.Failure, "BR has found no file, and the backup has 7 B", before},
		"damaged": {func(w *world) { w.fails, w.log = true, damagedLog }, exit.Refused,
			"backup monday at s3://b/p is damaged: BR says: backup data checksum failed: 1_2.sst may be changed; make a new backup", ""},
		"gone": {func(w *world) { w.fails, w.log = true, "Error: read 1_2.sst: NoSuchKey: not found status code: 404\n" }, exit.Refused,
			"is damaged: BR says: read 1_2.sst: NoSuchKey", ""},
		"no bucket": {func(w *world) { w.fails, w.log = true, "Error: NoSuchBucket: not found status code: 404\n" }, exit.Refused, "is not known to be intact: BR says: NoSuchBucket", before},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(credentials())
			w.log = intactLog
			c.change(w)
			err := w.verify(t.Context(), t)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, %v; want %d, %q", exit.Of(err), err, c.code, c.says)
			}
			if damaged := w.annotation(t, backup.AnnotationDamaged) != ""; damaged != (c.recorded == "") {
				t.Errorf("recorded as damaged: %v", damaged)
			}
			if strings.Contains(w.left(t), "job") || w.recordedAt(t) != c.recorded {
				t.Errorf("left are %q, recorded is %q", w.left(t), w.recordedAt(t))
			}
			if err == nil && w.out.String() != "backup.pingcap.com/monday is intact as of 2026-03-10T12:01:00Z: 2 files at s3://b/p\n" {
				t.Errorf("%q", w.out.String())
			}
		})
	}
}

// TestVerifyInterrupted: after Ctrl-C it goes on, and the same command follows it. The Job asks no PD.
func TestVerifyInterrupted(t *testing.T) {
	w := newWorld(credentials())
	w.runs, w.log = true, ""
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-w.read
		cancel(exit.ErrInterrupted)
	}()
	if err := w.verify(ctx, t); !errors.Is(err, exit.ErrInterrupted) || !strings.Contains(err.Error(), "the verification goes on; follow it: kubectl tidb backup verify monday --cluster basic --from-secret s3 -n db") {
		t.Errorf("%v", err)
	}
	jobs, err := w.kube.BatchV1().Jobs("db").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(jobs.Items) != 1 {
		t.Fatalf("%v, %v", jobs, err)
	}
	pod := jobs.Items[0].Spec.Template.Spec
	if want := []string{"debug", "checksum", "--storage=s3://b/p"}; !slices.Equal(pod.Containers[0].Args, want) || len(pod.InitContainers) > 0 || jobs.Items[0].Name != "basic-br-verify" {
		t.Errorf("%+v", pod)
	}
}

// TestVerifyUnderWay: the result of an earlier command is that of its time and of its Backup. Another Job is in the way.
func TestVerifyUnderWay(t *testing.T) {
	asked := backup.Asked{URL: "s3://b/p", Does: backup.Verifies, Backup: "monday", UID: "1", Secret: "s3"}
	w := newWorld(credentials())
	w.log = intactLog
	w.begun(t, asked)
	if err := w.verify(t.Context(), t); err != nil || w.recordedAt(t) != "2026-03-10T12:01:00Z" || !strings.Contains(w.err.String(), "that began at 2026-03-10T12:00:00Z is followed") {
		t.Errorf("%v, %q, %q", err, w.recordedAt(t), w.err.String())
	}
	w = newWorld(credentials())
	w.log, asked.UID = intactLog, "2"
	w.begun(t, asked)
	err := w.verify(t.Context(), t)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "verifies backup monday, or has done so; nothing was changed; see its result: kubectl tidb backup verify monday") || w.recordedAt(t) != before {
		t.Errorf("%v, %q", err, w.recordedAt(t))
	}
}

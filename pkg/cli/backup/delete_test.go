package backup

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// itsOwn is what rclone lists at the place of a backup, and empty is what is there when its files are deleted.
const (
	itsOwn = `[
{"Path":"backupmeta","Name":"backupmeta","Size":7235,"ModTime":"2026-03-10T12:00:00Z","IsDir":false},
{"Path":"backup.lock","Name":"backup.lock","Size":80,"ModTime":"2026-03-10T11:59:00Z","IsDir":false}
]
`
	empty = "[\n]\n"
)

// deletable returns a Backup whose files are in a folder of bucket b.
func deletable(name, prefix string) *unstructured.Unstructured {
	u := saved(name, "pingcap/br:v8.1.0", 7)
	u.SetUID(types.UID(name))
	_ = unstructured.SetNestedField(u.Object, prefix, "spec", "s3", "prefix")
	_ = unstructured.SetNestedField(u.Object, "s3://b/"+prefix, "status", "backupPath")
	_ = unstructured.SetNestedField(u.Object, "2026-03-10T11:59:00Z", "status", "timeStarted")
	_ = unstructured.SetNestedField(u.Object, "2026-03-10T12:00:00Z", "status", "timeCompleted")
	return u
}

// delete runs "backup delete monday" with a choice about files, for a user who agrees.
func (w *world) delete(ctx context.Context, t *testing.T, files bool) error {
	t.Helper()
	if w.dyn == nil {
		w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"}, w.backups...)
	}
	f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(w.answer), Out: &w.out, ErrOut: &w.err}, func(string) string { return "" }, "")
	d := &deletion{deleteOptions: deleteOptions{names: []string{"monday"}, files: &files}, work: w.work(f)}
	found, err := edge.Of(ctx, w.dyn, "db")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.choose(ctx, "db", found); err != nil {
		return err
	}
	if err := d.check(ctx); err != nil {
		return err
	}
	return d.one(ctx, &d.all[0])
}

// marked reports whether a Backup says that its files are being deleted.
func (w *world) marked(t *testing.T) bool {
	t.Helper()
	b, err := w.dyn.Resource(edge.Resource).Namespace("db").Get(t.Context(), "monday", metav1.GetOptions{})
	return err == nil && b.GetAnnotations()[backup.AnnotationDeleting] != ""
}

func user(storage string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "restores", Labels: map[string]string{"app.kubernetes.io/component": "backup"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: backup.ContainerBR, Args: []string{"restore", "full", "--storage=" + storage}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// TestDelete: the Backup goes when its files are gone, and only then.
func TestDelete(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		keeps  bool // the files
		code   exit.Code
		says   string
		marked bool
	}{
		"with its files": {func(*world) {}, false, exit.OK, "with its files at s3://b/p\n", false},
		"nothing there":  {func(w *world) { w.listed = empty }, false, exit.Refused, "its backupmeta is not there; none of its files was deleted; delete the Backup, and leave its files", false},
		"files of BR are left": {func(w *world) { w.result = `[` + "\n" + `{"Path":"1/2.sst"}` + "\n]\n" }, false, exit.Failure,
			"not all deleted: 1 file of BR is there afterwards, such as 1/2.sst; try again", true},
		"files of others are left": {func(w *world) { w.result = `[` + "\n" + `{"Path":"mine.txt"}` + "\n]\n" }, false, exit.OK, "warning: 1 file is left at s3://b/p, which BR does not write for a backup: mine.txt", false},
		"without its files":        {func(w *world) { w.listed = "" }, true, exit.OK, "backup.pingcap.com/monday is deleted\n", false},
		"another backup below": {func(w *world) {
			w.listed = strings.ReplaceAll(itsOwn, `"Path":"backupmeta"`, `"Path":"two/backupmeta"`)
		}, false, exit.Refused,
			"the files of backup monday cannot be deleted from s3://b/p: another backup is in folder two of the same place; none of its files was deleted; delete the Backup, and leave its files: kubectl tidb backup delete monday --files=false -n db", false},
		"another Backup below": {func(w *world) { w.backups = append(w.backups, deletable("tuesday", "p/two")) }, false, exit.Refused,
			"it has a place that overlaps with the place of backup db/tuesday; nothing of it was changed", false},
		"another backup there": {func(w *world) { w.listed = strings.ReplaceAll(itsOwn, "T12:00", "T16:00") }, false, exit.Refused, "its backupmeta was written at 2026-03-10T16:00:00Z", false},
		"no list":              {func(w *world) { w.listed = "" }, false, exit.Failure, "not deleted: the list of files at the place has no end", false},
		"a restore reads it":   {func(w *world) { _ = w.kube.Tracker().Add(user("s3://b/p")) }, false, exit.Refused, "BR may read or write at s3://b/p in pod restores; none of its files was deleted", false},
		"wrong credentials": {func(w *world) {
			_ = w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), secret(backup.KeyAccess), "db")
		}, false, exit.Refused, "has no key secret_key", false},
		"the deletion breaks": {func(w *world) {
			w.deletes = func() { w.fails = true }
			w.log = "2026/03/10 12:00:00 ERROR : 1_2.sst: Couldn't delete: AccessDenied: " + hidden + "\n"
		}, false, exit.Refused,
			"not all deleted: rclone says: ERROR : 1_2.sst: Couldn't delete: AccessDenied: …; see which keys", true},
		"no list afterwards": {func(w *world) { w.result = "[\n" }, false, exit.Failure, "not all deleted: the list of files", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(credentials())
			w.backups, w.listed, w.log, w.result = []runtime.Object{deletable("monday", "p")}, itsOwn, "", empty
			c.change(w)
			err := w.delete(t.Context(), t, !c.keeps)
			says := w.out.String() + w.err.String()
			if err != nil {
				says = err.Error()
			}
			if exit.Of(err) != c.code || !strings.Contains(says, c.says) {
				t.Errorf("exit code %d, %s; want %d, %q", exit.Of(err), says, c.code, c.says)
			}
			if left := w.left(t); strings.Contains(left, "job") || strings.Contains(left, "monday") == (err == nil) {
				t.Errorf("left are %q", left)
			}
			if w.marked(t) != c.marked {
				t.Errorf("marked as being deleted: %v", !c.marked)
			}
		})
	}
}

// TestPrune: a backup that is in use is left, and the next one is deleted.
func TestPrune(t *testing.T) {
	w := newWorld(credentials(), user("s3://b/p"))
	w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"},
		deletable("monday", "p"), deletable("tuesday", "q"))
	w.listed, w.log, w.result = itsOwn, "", empty
	f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.err}, func(string) string { return "" }, "")
	files := true
	d := &deletion{deleteOptions: deleteOptions{names: []string{"monday", "tuesday"}, files: &files}, work: w.work(f), goesOn: true}
	found, err := edge.Of(t.Context(), w.dyn, "db")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.choose(t.Context(), "db", found); err != nil {
		t.Fatal(err)
	}
	if err := d.check(t.Context()); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "the files of backup monday cannot be deleted: BR may read or write") {
		t.Errorf("%v", err)
	}
	if err := d.deleteAll(t.Context()); err != nil || w.left(t) != "backup/monday safepoint" {
		t.Errorf("%v, left are %s", err, w.left(t))
	}
}

// TestDeleteGoesOn: after a kill the same command follows the deletion. An old list is made again.
func TestDeleteGoesOn(t *testing.T) {
	asked := backup.Asked{URL: "s3://b/p", Does: backup.Deletes, Backup: "monday", UID: "monday", Secret: "s3"}
	w := newWorld(credentials())
	w.backups, w.log, w.result = []runtime.Object{deletable("monday", "p")}, "", empty
	w.begun(t, asked)
	if err := w.delete(t.Context(), t, true); err != nil || !strings.Contains(w.err.String(), "job basic-files-delete, which began at 2026-03-10T12:00:00Z, is followed") || w.left(t) != "safepoint" {
		t.Errorf("%v, %s, %s", err, w.err.String(), w.left(t))
	}
	w = newWorld(credentials())
	w.backups = []runtime.Object{deletable("monday", "p"), deletable("sunday", "q")}
	asked.Backup, asked.UID = "sunday", "sunday"
	w.begun(t, asked)
	err := w.delete(t.Context(), t, true)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "is for the files of backup sunday; no other file was deleted; go on with that first: kubectl tidb backup delete sunday --files --cluster basic --from-secret s3 -n db") {
		t.Errorf("%v", err)
	}
	// That Backup is gone, and its Job has ended: nobody else needs the Job.
	w.backups, w.dyn, w.listed, w.log, w.result = []runtime.Object{deletable("monday", "p")}, nil, itsOwn, "", empty
	if err := w.delete(t.Context(), t, true); err != nil {
		t.Errorf("%v", err)
	}
	w = newWorld(credentials())
	w.backups, w.log, w.result = []runtime.Object{deletable("monday", "p")}, "", empty
	asked = backup.Asked{URL: "s3://b/p", Does: backup.Lists, Backup: "monday", UID: "monday", Secret: "s3"}
	w.begun(t, asked)
	w.listed = strings.ReplaceAll(itsOwn, `"Path":"backupmeta"`, `"Path":"two/backupmeta"`)
	if err := w.delete(t.Context(), t, true); !strings.Contains(err.Error(), "in folder two") {
		t.Errorf("%v", err)
	}
}

// TestDeleteCannotStart: the backup counts again where no file was deleted.
func TestDeleteCannotStart(t *testing.T) {
	w := newWorld(credentials())
	w.backups, w.listed, w.later = []runtime.Object{deletable("monday", "p")}, itsOwn, hopeless
	w.deletes = func() { w.waits = "ErrImagePull" }
	err := w.delete(t.Context(), t, true)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "its pod cannot start: ErrImagePull; give an image of rclone that fits with --image") || w.marked(t) || w.left(t) != "backup/monday safepoint" {
		t.Errorf("%v, marked %v, left are %s", err, w.marked(t), w.left(t))
	}
}

// TestDeleteTwice: of two commands at the same time one makes the Job, and the other one does not take its mark back.
func TestDeleteTwice(t *testing.T) {
	w := newWorld(credentials())
	w.backups, w.listed = []runtime.Object{deletable("monday", "p")}, itsOwn
	w.deletes = func() {
		w.deletes = nil
		w.begun(t, backup.Asked{URL: "s3://b/p", Does: backup.Deletes, Backup: "monday", UID: "monday", Secret: "other"})
	}
	err := w.delete(t.Context(), t, true)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "another command has begun to delete a backup of basic at the same time") || !w.marked(t) {
		t.Errorf("%v, marked %v", err, w.marked(t))
	}
}

// TestDeleteInterrupted: after Ctrl-C the deletion goes on.
func TestDeleteInterrupted(t *testing.T) {
	w := newWorld(credentials())
	w.backups, w.listed = []runtime.Object{deletable("monday", "p")}, itsOwn
	ctx, cancel := context.WithCancelCause(t.Context())
	w.deletes = func() {
		w.runs = true
		cancel(exit.ErrInterrupted)
	}
	err := w.delete(ctx, t, true)
	if !errors.Is(err, exit.ErrInterrupted) || !strings.Contains(err.Error(), "job basic-files-delete goes on; follow it: kubectl tidb backup delete monday --files --cluster basic") || !w.marked(t) {
		t.Errorf("%v", err)
	}
}

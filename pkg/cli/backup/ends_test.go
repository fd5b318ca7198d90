package backup

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// TestNoPod: a Job whose pod Kubernetes may not make is given up after a while, with the reason that its events have.
func TestNoPod(t *testing.T) {
	event := func(at time.Time, reason, message string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: reason + at.Format("150405")}, Reason: reason, Message: message, LastTimestamp: metav1.NewTime(at)}
	}
	w := newWorld(credentials(), event(now, "FailedCreate", "Error creating: old"), event(now.Add(time.Second), "FailedCreate", `Error creating: pods "x" is forbidden: violates PodSecurity "restricted"`),
		event(now.Add(time.Minute), "Suspended", "Job suspended"))
	w.runs, w.later = true, time.Minute
	w.begun(t, w.asked)
	_ = w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "db", "pod")
	err := w.make(t.Context(), t)
	says := `its pod cannot start: Kubernetes could not make the pod: pods "x" is forbidden: violates PodSecurity "restricted"; ` +
		"change what the message names, or ask the owner of the webhook or of the policy"
	if exit.Of(err) != exit.Refused || !strings.HasSuffix(err.Error(), says) || w.left(t) != "safepoint" {
		t.Errorf("%v, left are %q", err, w.left(t))
	}
}

// TestUnread: a backup has ended, and its node is lost with the log. The Job stays, so that the result can be read later.
func TestUnread(t *testing.T) {
	for name, asked := range map[string]backup.Asked{"the same": {URL: "s3://b/p", Secret: "s3"}, "another one": {URL: "s3://b/other", Secret: "s3"}} {
		w := newWorld(credentials())
		w.unread = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "pod", errors.New("no"))
		w.begun(t, asked)
		err := w.make(t.Context(), t)
		if err == nil || !strings.Contains(err.Error(), "backup basic-earlier has ended at "+asked.URL+", but its result cannot be read and is not recorded") ||
			!strings.Contains(err.Error(), "try again with the right to read logs of pods: kubectl tidb backup create basic --to "+asked.URL) ||
			!strings.Contains(err.Error(), "give it up; what it has written stays: kubectl delete job basic-br-backup -n db") || w.left(t) != earlier+" safepoint" {
			t.Errorf("%s: %v, left are %q", name, err, w.left(t))
		}
	}
}

// TestFailedUnread: a backup whose Job has failed is no backup, also where its log cannot be read.
func TestFailedUnread(t *testing.T) {
	w := newWorld(credentials())
	w.unread, w.fails = apierrors.NewBadRequest("container save not found"), true
	w.begun(t, w.asked)
	err := w.make(t.Context(), t)
	if exit.Of(err) != exit.Failure || !strings.Contains(err.Error(), "has failed: BR has ended and gives no reason") || w.left(t) != "safepoint" ||
		!strings.Contains(w.err.String(), "container save not found") {
		t.Errorf("%v, left are %q, stderr %q", err, w.left(t), w.err.String())
	}
}

// TestUnrecorded: a complete backup of an earlier command cannot be recorded. Its Job stays, and no other backup begins.
func TestUnrecorded(t *testing.T) {
	w := newWorld(credentials())
	w.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"})
	w.dyn.PrependReactor("create", "backups", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no room") })
	w.begun(t, backup.Asked{URL: "s3://b/other", Secret: "s3"})
	err := w.make(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), "backup basic-earlier is complete at s3://b/other, but it is not recorded") || w.left(t) != earlier+" safepoint" {
		t.Errorf("%v, left are %q", err, w.left(t))
	}
}

// TestDeletedMeanwhile: a Job that somebody deletes is a backup that is cancelled.
func TestDeletedMeanwhile(t *testing.T) {
	w := newWorld(credentials())
	w.runs, w.log = true, began
	looked := 0
	w.kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		if looked++; looked == 2 { // the first look finds that there is none yet
			_ = w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "db", "pod")
			_ = w.kube.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), "db", "basic-br-backup")
		}
		return false, nil, nil
	})
	if err := w.make(t.Context(), t); exit.Of(err) != exit.Aborted || !strings.Contains(err.Error(), "was cancelled, or another command has seen that it failed; what it has written stays at s3://b/p") {
		t.Errorf("%v", err)
	}
}

package backup

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

// ended returns a Job that has ended, and its pod.
func ended() (*batchv1.Job, *corev1.Pod) {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic-br-backup", UID: "1", Labels: map[string]string{backup.LabelBackup: "b"}},
		Status:     batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}},
	}
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "pod", Labels: job.Labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")),
		}},
		Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: backup.ContainerBR, State: over}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: backup.ContainerResult, State: over}},
		},
	}
	return job, pod
}

func text(of map[string]string) func(context.Context, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
	return func(_ context.Context, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(of[o.Container])), nil
	}
}

// TestFollow: an API server that is away for a while ends nothing, and a missing right, or another Job of the name, does.
func TestFollow(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	for name, c := range map[string]struct {
		fails []error // of the first requests
		uid   string
		check func(error) bool
	}{
		"it answers":     {nil, "1", func(err error) bool { return err == nil }},
		"it is away":     {[]error{apierrors.NewInternalError(errors.New("x")), errors.New("connection refused")}, "1", func(err error) bool { return err == nil }},
		"no right":       {[]error{apierrors.NewForbidden(jobs, "", errors.New("no"))}, "1", apierrors.IsForbidden},
		"another Job":    {nil, "2", func(err error) bool { _, is := errors.AsType[*GoneError](err); return is }},
		"the Job is not": {[]error{apierrors.NewNotFound(jobs, "")}, "1", func(err error) bool { _, is := errors.AsType[*GoneError](err); return is }},
	} {
		job, pod := ended()
		kube := fake.NewClientset(job, pod)
		fails := c.fails
		kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			if len(fails) == 0 {
				return false, nil, nil
			}
			err := fails[0]
			fails = fails[1:]
			return true, nil, err
		})
		seen := job.DeepCopy()
		seen.UID = "1"
		if c.uid != "1" {
			seen.UID = "another"
		}
		j := Jobs{Kube: kube, Namespace: "db", Pause: time.Millisecond, Outage: time.Minute, Logs: text(map[string]string{
			backup.ContainerBR: strings.Repeat("x", 3*longest) + "\n[t] [INFO] [f] [\"Full backup success summary\"] [Size=7] [BackupTS=5]\n", backup.ContainerResult: "log\n5\n",
		})}
		v, err := j.Follow(t.Context(), seen, func(View) {})
		if !c.check(err) || err == nil && (v.TS != 5 || v.Log.Size != 7) {
			t.Errorf("%s: %v, %+v", name, err, v.Log)
		}
	}
}

// TestOutage: an API server that stays away ends the wait.
func TestOutage(t *testing.T) {
	job, _ := ended()
	kube := fake.NewClientset()
	kube.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
	if _, err := (Jobs{Kube: kube, Namespace: "db", Pause: time.Millisecond, Outage: 20 * time.Millisecond}).Follow(t.Context(), job, func(View) {}); err == nil {
		t.Error("no error")
	}
}

// TestAwaitEnd: a pod that is there may run, and a pod of another Job is not waited for.
func TestAwaitEnd(t *testing.T) {
	job, pod := ended()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	j := Jobs{Kube: fake.NewClientset(pod), Namespace: "db", Pause: time.Millisecond}
	if left, err := j.AwaitEnd(ctx, job); err == nil || left == nil || left.Name != "pod" {
		t.Errorf("%v, %v", left, err)
	}
	pod.OwnerReferences = nil
	orphaned, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer end()
	if left, err := (Jobs{Kube: fake.NewClientset(pod), Namespace: "db", Pause: time.Millisecond}).AwaitEnd(orphaned, job); err == nil || left == nil {
		t.Errorf("an orphan: %v, %v", left, err)
	}
	job.UID = "another"
	if left, err := j.AwaitEnd(t.Context(), job); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}

// TestCredentials: what a Secret lacks is named, never its values. A Secret that may not be read is not checked.
func TestCredentials(t *testing.T) {
	secret := func(keys ...string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "s3"}, Data: map[string][]byte{}}
		for _, k := range keys {
			s.Data[k] = []byte("VALUE")
		}
		return s
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s3", errors.New("no"))
	for name, c := range map[string]struct {
		objects []runtime.Object
		fails   error
		values  int
		lacks   string
		err     bool
	}{
		"both":     {objects: []runtime.Object{secret("access_key", "secret_key")}, values: 2},
		"one":      {objects: []runtime.Object{secret("access_key")}, lacks: "has no key secret_key"},
		"none":     {lacks: "there is no secret s3 in namespace db"},
		"no right": {fails: forbidden},
		"broken":   {fails: errors.New("refused"), err: true},
	} {
		kube := fake.NewClientset(c.objects...)
		if c.fails != nil {
			kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.fails })
		}
		values, lacks, err := Credentials(t.Context(), kube, "db", "s3")
		if len(values) != c.values || (lacks == "") != (c.lacks == "") || !strings.Contains(lacks, c.lacks) || strings.Contains(lacks, "VALUE") || (err != nil) != c.err {
			t.Errorf("%s: %d values, %q, %v", name, len(values), lacks, err)
		}
	}
}

// TestEndSafePoint: only the safepoint of this BR is deleted.
func TestEndSafePoint(t *testing.T) {
	f := pd.NewFake(1, 1)
	f.Update(func(s *pd.FakeState) { s.SafePoints = []pd.ServiceSafePoint{{ID: "br-1"}, {ID: "br-2"}} })
	for id, want := range map[string]bool{"br-1": true, "br-3": false} {
		if had, err := EndSafePoint(t.Context(), f, id); had != want || err != nil {
			t.Errorf("%s: %t, %v", id, had, err)
		}
	}
	if all, err := f.ServiceSafePoints(t.Context()); err != nil || len(all) != 1 || all[0].ID != "br-2" {
		t.Errorf("%+v, %v", all, err)
	}
	f.Update(func(s *pd.FakeState) { s.Unreachable = true })
	if had, err := EndSafePoint(t.Context(), f, "br-2"); had || err == nil {
		t.Errorf("%t, %v", had, err)
	}
}

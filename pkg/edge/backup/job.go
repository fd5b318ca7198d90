package backup

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// GoneError says that a Job does not exist any more, because somebody has deleted it.
type GoneError struct{ Job string }

func (e *GoneError) Error() string { return "job " + e.Job + " does not exist any more" }

// UnreadError says that a Job has ended, and that the log of its pod cannot be read.
type UnreadError struct{ Err error }

func (e *UnreadError) Error() string { return e.Err.Error() }
func (e *UnreadError) Unwrap() error { return e.Err }

// Jobs are the Jobs of a namespace that make backups.
type Jobs struct {
	Kube      kubernetes.Interface
	Namespace string
	// Pause is how long to wait between two looks at a Job, and Outage how long the API server may be away meanwhile.
	Pause, Outage time.Duration
	// Logs opens the log of a container. It is nil for that of the API server.
	Logs func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error)
}

// Find returns the Job of a name, nil if there is none.
func (j Jobs) Find(ctx context.Context, name string) (*batchv1.Job, error) {
	job, err := j.Kube.BatchV1().Jobs(j.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get job %s: %w", name, err)
	}
	return job, nil
}

// Create makes a Job. Of two commands at the same time only one succeeds, because both give the Job the same name. With
// try the API server only checks the Job.
func (j Jobs) Create(ctx context.Context, job *batchv1.Job, try bool) (*batchv1.Job, error) {
	var o metav1.CreateOptions
	if try {
		o.DryRun = []string{metav1.DryRunAll}
	}
	made, err := j.Kube.BatchV1().Jobs(j.Namespace).Create(ctx, job, o)
	if err != nil {
		return nil, fmt.Errorf("create job %s: %w", job.Name, err)
	}
	return made, nil
}

// Resume has Kubernetes make the pod of a Job that was made suspended.
func (j Jobs) Resume(ctx context.Context, job *batchv1.Job) (*batchv1.Job, error) {
	// The test fails where somebody has deleted the Job and made another one with its name.
	patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/uid","value":%q},{"op":"replace","path":"/spec/suspend","value":false}]`, job.UID)
	resumed, err := j.Kube.BatchV1().Jobs(j.Namespace).Patch(ctx, job.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("resume job %s: %w", job.Name, err)
	}
	return resumed, nil
}

// Restoring returns a pod of a restore of a cluster in which BR may run, also of a Job that is deleted; nil for none. Pods of
// one restore do not count, "" for none.
func (j Jobs) Restoring(ctx context.Context, instance, but string) (*corev1.Pod, error) {
	selector := backup.LabelRestore + "," + backup.LabelRestore + "!=" + but + "," + topology.LabelInstance + "=" + instance
	list, err := j.Kube.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list pods in namespace %s: %w", j.Namespace, err)
	}
	for i := range list.Items {
		if p := &list.Items[i]; backup.MayRun(p) {
			return p, nil
		}
	}
	return nil, nil
}

// Pod returns the pod of a Job, nil if there is none.
func (j Jobs) Pod(ctx context.Context, job *batchv1.Job) (*corev1.Pod, error) {
	pods, err := j.pods(ctx, job)
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], job) {
			return &pods[i], nil
		}
	}
	return nil, err
}

// pods returns the pods of a Job, also those that somebody has made orphans.
func (j Jobs) pods(ctx context.Context, job *batchv1.Job) ([]corev1.Pod, error) {
	list, err := j.Kube.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{LabelSelector: backup.PodsOf(job)})
	if err != nil {
		return nil, fmt.Errorf("list pods in namespace %s: %w", j.Namespace, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		return owner != nil && owner.UID != job.UID
	}), nil
}

// View is what is known of a Job.
type View struct {
	Job *batchv1.Job
	Pod *corev1.Pod // nil if there is none
	Log backup.Log
	// Refusal is why Kubernetes could not make the pod, and asked is when the events of the Job were read for that.
	Refusal backup.Refusal
	asked   time.Time
	// Result is the log of the container that reads what was written, and TS the timestamp that it has found.
	Result backup.Log
	TS     uint64
	// First is what rclone has written in the first of two containers: rclone deletes files there, or lists files above the
	// place. Listed is the list of files at the place.
	First, Listed backup.Listing
}

// Follow looks at a Job until the Job has ended, and tells each view. Follow returns the last view.
func (j Jobs) Follow(ctx context.Context, job *batchv1.Job, tell func(View)) (View, error) {
	v := View{Job: job}
	var lost time.Time
	for {
		err := j.look(ctx, &v, tell)
		ended, _ := backup.Ended(v.Job)
		switch {
		case ctx.Err() != nil:
			return v, context.Cause(ctx)
		case err == nil && ended:
			return v, nil
		case err == nil:
			lost = time.Time{}
		case !j.bearable(err, &lost):
			return v, err
		}
		if err := pause(ctx, j.Pause); err != nil {
			return v, err
		}
	}
}

// bearable reports whether another look may succeed. The API server may be away for a while.
func (j Jobs) bearable(err error, since *time.Time) bool {
	if _, gone := errors.AsType[*GoneError](err); gone || denial.Of(err).Final() || apierrors.IsUnauthorized(err) {
		return false
	}
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since) < j.Outage
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look looks at the Job once. It reads the log of BR for as long as BR writes.
func (j Jobs) look(ctx context.Context, v *View, tell func(View)) error {
	job, err := j.Find(ctx, v.Job.Name)
	switch {
	case err != nil:
		return err
	case job == nil || job.UID != v.Job.UID:
		return &GoneError{Job: v.Job.Name}
	}
	pod, err := j.Pod(ctx, job)
	if err != nil {
		return err
	}
	v.Job = job
	ended, _ := backup.Ended(job)
	switch {
	case pod != nil:
		v.Pod, v.Refusal = pod, backup.Refusal{} // a pod that is gone has said how it ended
	case v.Pod == nil && !ended && time.Since(v.asked) > refusalKept:
		v.asked = time.Now()
		v.Refusal = j.refusal(ctx, job, v.Refusal)
	}
	tell(*v)
	if text, _ := backup.Waits(v.Pod, v.Refusal); text != "" && !ended || pod == nil {
		return nil
	}
	err = j.read(ctx, v, !ended, tell)
	if ended && err != nil {
		return &UnreadError{err}
	}
	return err
}

// refusalKept is how long the events of a Job are not read again. The API server looks for them in all of the namespace.
const refusalKept = 10 * time.Second

// refusal returns why Kubernetes could not make the pod of a Job when it tried last. A quota, a ServiceAccount that does
// not exist, or another refusal is only in the events of the Job. Where the events cannot be read, before is returned.
func (j Jobs) refusal(ctx context.Context, job *batchv1.Job, before backup.Refusal) backup.Refusal {
	about := fields.Set{"involvedObject.kind": "Job", "involvedObject.uid": string(job.UID)}.String()
	list, err := j.Kube.CoreV1().Events(j.Namespace).List(ctx, metav1.ListOptions{FieldSelector: about})
	if err != nil {
		return before
	}
	var last corev1.Event
	for _, e := range list.Items {
		if e.Reason == "FailedCreate" && !e.LastTimestamp.Before(&last.LastTimestamp) {
			last = e
		}
	}
	text := last.Message
	if _, after, found := strings.Cut(text, "Error creating: "); found {
		text = after
	}
	meaning, _ := denial.OfText(text)
	return backup.Refusal{Text: text, Final: meaning == denial.Denied || meaning == denial.NamespaceEnds}
}

// read reads the logs from their beginning. While BR runs, it reads the log of BR as it is written.
func (j Jobs) read(ctx context.Context, v *View, follow bool, tell func(View)) error {
	ran := backup.HasRun(v.Pod, backup.ContainerBR) // else there is no log, also if the pod was evicted before
	switch {
	case follow && (!ran || backup.EndOf(v.Pod, backup.ContainerBR) != nil):
		return nil // read when the Job has ended, which is soon
	case ran:
		if err := j.readBR(ctx, v, follow, tell); err != nil || follow {
			return err
		}
	}
	if backup.EndOf(v.Pod, backup.ContainerFiles) != nil {
		v.First = backup.Listing{}
		if err := j.lines(ctx, v.Pod.Name, backup.ContainerFiles, false, v.First.Add); err != nil {
			return err
		}
	}
	if backup.EndOf(v.Pod, backup.ContainerResult) == nil {
		return nil
	}
	v.Result, v.TS, v.Listed = backup.Log{}, 0, backup.Listing{}
	return j.lines(ctx, v.Pod.Name, backup.ContainerResult, false, func(line string) {
		v.TS = cmp.Or(v.TS, backup.EndVersion(line))
		v.Result.Add(line)
		v.Listed.Add(line)
	})
}

// readBR reads the log of BR. It succeeds where the stream was cut while BR runs, because the next look opens another one.
func (j Jobs) readBR(ctx context.Context, v *View, follow bool, tell func(View)) error {
	// The first lines, which have these, are gone once the kubelet has rotated the log.
	log, files := backup.Log{SafePoint: v.Log.SafePoint, TS: v.Log.TS}, v.Log.Files
	err := j.lines(ctx, v.Pod.Name, backup.ContainerBR, follow, func(line string) {
		log.Add(line)
		v.Log = log
		if follow {
			tell(*v)
		}
	})
	v.Log.Files = max(v.Log.Files, files)
	if follow && err != nil && !denial.Of(err).Final() {
		return nil
	}
	return err
}

// longest is how long a line of a log may be; a longer one is read as several.
const longest = 1 << 20

func (j Jobs) lines(ctx context.Context, pod, container string, follow bool, each func(string)) error {
	open := j.Logs
	if open == nil {
		open = func(ctx context.Context, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return j.Kube.CoreV1().Pods(j.Namespace).GetLogs(pod, o).Stream(ctx)
		}
	}
	stream, err := open(ctx, pod, &corev1.PodLogOptions{Container: container, Follow: follow})
	if err != nil {
		return fmt.Errorf("read the log of container %s of pod %s: %w", container, pod, err)
	}
	defer stream.Close()
	for r := bufio.NewReaderSize(stream, longest); ; {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			each(string(line))
		}
		switch {
		case err == nil, errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("read the log of container %s of pod %s: %w", container, pod, err)
		}
	}
}

// UserOf returns what may read or write at a destination, "" for nothing. That is a pod of the namespace, or a Job of a
// cluster, which may have no pod yet.
func (j Jobs) UserOf(ctx context.Context, d backup.Destination, c topology.Cluster) (string, error) {
	for _, does := range []backup.Work{backup.Saves, backup.Restores, backup.Verifies} {
		job, err := j.Find(ctx, backup.Asked{Does: does}.JobName(c))
		switch {
		case err != nil:
			return "", err
		case job != nil && d.IsUsedBy(job):
			return "job " + job.Name, nil
		}
	}
	list, err := j.Kube.CoreV1().Pods(j.Namespace).List(ctx, metav1.ListOptions{LabelSelector: backup.Workers()})
	if err != nil {
		return "", fmt.Errorf("list pods in namespace %s: %w", j.Namespace, err)
	}
	for i := range list.Items {
		if p := &list.Items[i]; d.UsedBy(p) {
			return "pod " + p.Name, nil
		}
	}
	return "", nil
}

// Delete deletes a Job with its pod.
func (j Jobs) Delete(ctx context.Context, job *batchv1.Job) error {
	background := metav1.DeletePropagationBackground
	err := j.Kube.BatchV1().Jobs(j.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &background, Preconditions: metav1.NewUIDPreconditions(string(job.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete job %s: %w", job.Name, err)
	}
	return nil
}

// AwaitEnd waits until no pod of a Job is left, also none that somebody has made an orphan. A pod is gone when the kubelet
// of its node has seen all processes end, unless its deletion was forced. AwaitEnd returns the pod that is left when ctx
// ends.
func (j Jobs) AwaitEnd(ctx context.Context, job *batchv1.Job) (left *corev1.Pod, err error) {
	for {
		pods, err := j.pods(ctx, job)
		if err == nil && len(pods) == 0 {
			return nil, nil
		}
		if len(pods) > 0 {
			left = &pods[0]
		}
		if waited := pause(ctx, j.Pause); waited != nil {
			return left, errors.Join(err, waited)
		}
	}
}

// Credentials returns the values of a Secret with credentials for S3, so that they can be kept out of what is shown. It
// says what the Secret lacks. What may not be read is not checked.
func Credentials(ctx context.Context, kube kubernetes.Interface, namespace, name string) (values []string, lacks string, err error) {
	secret, err := kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("there is no secret %s in namespace %s", name, namespace), nil
	case denial.Missing(err):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("get secret %s: %w", name, err)
	}
	for _, key := range []string{backup.KeyAccess, backup.KeySecret} {
		if len(secret.Data[key]) == 0 {
			return nil, fmt.Sprintf("secret %s in namespace %s has no key %s", name, namespace, key), nil
		}
		values = append(values, string(secret.Data[key]))
	}
	return values, "", nil
}

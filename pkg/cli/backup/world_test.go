package backup

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// world is a Kubernetes cluster with PD, in which a Job ends as it is told.
type world struct {
	kube    *fake.Clientset
	dyn     *dynamicfake.FakeDynamicClient
	pd      *pd.Fake
	silent  bool          // PD
	later   time.Duration // how much later it is at each look at the clock
	log     string        // of BR
	result  string        // of BR that reads
	unread  error         // the logs cannot be read
	listed  string        // of rclone that lists what is there before files are deleted
	does    backup.Work   // of the last Job
	deletes func()        // called when the Job that deletes files is made
	waits   string        // why the first container of the next Job does not start
	fails   bool          // the Job ends with a failure
	runs    bool          // the Job does not end
	read    chan any      // closed when the log of a Job that does not end was read
	out     bytes.Buffer
	err     bytes.Buffer
	answer  string // of the user
	dryRun  flags.DryRun
	asked   backup.Asked
	backups []runtime.Object
}

func secret(keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "s3"}, Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = []byte(hidden)
	}
	return s
}

func newWorld(objects ...runtime.Object) *world {
	w := &world{
		kube: fake.NewClientset(objects...), pd: pd.NewFake(1, 1), log: whole, result: ts + "\n", read: make(chan any),
		asked: backup.Asked{URL: "s3://b/p", Secret: "s3"},
	}
	w.pd.Update(func(s *pd.FakeState) {
		s.SafePoints = []pd.ServiceSafePoint{{ID: point, TS: 1}, {ID: "gc_worker", TS: 1}}
	})
	w.kube.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job)
		job.UID, job.CreationTimestamp = "job", metav1.NewTime(now)
		if len(a.(clienttesting.CreateActionImpl).CreateOptions.DryRun) > 0 {
			return true, job, nil
		}
		if asked, _ := backup.AskedOf(job); asked.Does == backup.Deletes && w.deletes != nil {
			w.deletes()
		}
		if !backup.IsSuspended(job) {
			w.start(job)
		}
		return false, nil, nil
	})
	w.kube.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		_ = w.kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "db", "pod")
		return false, nil, nil
	})
	return w
}

// start has a Job run, or end, with a pod.
func (w *world) start(job *batchv1.Job) {
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, StartedAt: metav1.NewTime(now), FinishedAt: metav1.NewTime(now.Add(time.Minute)),
		}}
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "pod", Labels: job.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job")),
	}}}
	saves, reads := ended(0), ended(0)
	p.Status.Phase = corev1.PodSucceeded
	switch {
	case w.waits != "":
		p.Status.Phase = corev1.PodPending
		saves = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: w.waits}}
		reads = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	case w.runs:
		p.Status.Phase = corev1.PodRunning
		saves, reads = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, corev1.ContainerState{}
	case w.fails:
		p.Status.Phase = corev1.PodFailed
		saves, reads = ended(1), corev1.ContainerState{}
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	default:
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	states := func(containers []corev1.Container) (all []corev1.ContainerStatus) {
		for _, c := range containers {
			state := saves
			if c.Name == backup.ContainerResult {
				state = reads
			}
			all = append(all, corev1.ContainerStatus{Name: c.Name, State: state})
		}
		return all
	}
	p.Status.InitContainerStatuses = states(job.Spec.Template.Spec.InitContainers)
	p.Status.ContainerStatuses = states(job.Spec.Template.Spec.Containers)
	asked, _ := backup.AskedOf(job)
	w.does = asked.Does
	_ = w.kube.Tracker().Add(p)
}

// begun adds the Job of an earlier command.
func (w *world) begun(t *testing.T, asked backup.Asked) {
	t.Helper()
	d, err := backup.ParseDestination(asked.URL)
	if err != nil {
		t.Fatal(err)
	}
	job := backup.Request{Cluster: topology.New(basic()), Asked: asked, Destination: d, Name: "basic-earlier", Tool: "pingcap/br:v8.1.0"}.Job()
	job.UID, job.CreationTimestamp, job.Spec.Suspend = "earlier", metav1.NewTime(now), nil
	w.start(job)
	if err := w.kube.Tracker().Add(job); err != nil {
		t.Fatal(err)
	}
}

func (w *world) logs(ctx context.Context, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	switch {
	case w.unread != nil:
		return nil, w.unread
	case w.does == backup.Lists:
		return io.NopCloser(strings.NewReader(w.listed)), nil
	case o.Container == backup.ContainerResult:
		return io.NopCloser(strings.NewReader(w.result)), nil
	case !o.Follow:
		return io.NopCloser(strings.NewReader(w.log)), nil
	}
	r, end := io.Pipe()
	go func() {
		_, _ = io.WriteString(end, w.log)
		close(w.read)
		<-ctx.Done()
		_ = end.CloseWithError(ctx.Err())
	}()
	return r, nil
}

func basic() *v1alpha1.TidbCluster {
	return &v1alpha1.TidbCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic", UID: "7"},
		Spec: v1alpha1.TidbClusterSpec{
			Version: "v8.1.0", PD: &v1alpha1.PDSpec{BaseImage: "pingcap/pd", Replicas: 1}, TiKV: &v1alpha1.TiKVSpec{BaseImage: "pingcap/tikv", Replicas: 1},
		},
	}
}

// work is what the verbs have in this world.
func (w *world) work(f *factory.Factory) work {
	at := now
	return work{
		f: f, cluster: topology.New(basic()), dyn: w.dyn,
		session: &target.Session{Namespace: "db", Name: "basic", Connections: start.Connections{Kube: w.kube, Now: func() time.Time {
			at = at.Add(w.later)
			return at
		}}},
		jobs: edge.Jobs{Kube: w.kube, Namespace: "db", Pause: time.Millisecond, Outage: time.Minute, Logs: w.logs},
		pd: func(context.Context) (pd.Client, error) {
			if w.silent {
				return nil, errors.New("PD of cluster db/basic cannot be asked: silent")
			}
			return w.pd, nil
		},
	}
}

// left returns what there is in the end: Jobs, Backups and safepoints.
func (w *world) left(t *testing.T) string {
	t.Helper()
	var all []string
	jobs, err := w.kube.BatchV1().Jobs("db").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs.Items {
		all = append(all, "job/"+backup.NameOf(&j))
	}
	backups, err := w.dyn.Resource(edge.Resource).Namespace("db").List(t.Context(), metav1.ListOptions{})
	if err == nil {
		for _, b := range backups.Items {
			all = append(all, "backup/"+b.GetName())
		}
	}
	points, err := w.pd.ServiceSafePoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(points, func(p pd.ServiceSafePoint) bool { return p.ID == point }) {
		all = append(all, "safepoint")
	}
	if !slices.ContainsFunc(points, func(p pd.ServiceSafePoint) bool { return p.ID == "gc_worker" }) {
		t.Error("the safepoint of others is gone")
	}
	return strings.Join(all, " ")
}

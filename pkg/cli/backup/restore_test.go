package backup

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
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
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/database/pd"
)

const restored = `[2026/03/10 02:04:00.000 +00:00] [INFO] [collector.go:158] ["Full restore Success summary: total restore files: 3"] ["total kv"=9]` + "\n"

// intact is what PD has while nothing restores.
var intact = pd.ScheduleSettings{
	Schedulers: []string{"balance-hot-region-scheduler", "balance-leader-scheduler", "balance-region-scheduler", "evict-leader-scheduler"},
	Numbers:    map[string]float64{"region-schedule-limit": 2048, "max-merge-region-size": 20, "max-snapshot-count": 64, "leader-schedule-limit": 4},
}

// records is a TidbCluster that records settings.
type records struct {
	tc      *v1alpha1.TidbCluster
	refused error
}

func (r *records) Load(context.Context, string, string) (*v1alpha1.TidbCluster, error) {
	return r.tc.DeepCopy(), nil
}

func (r *records) RecordRestore(_ context.Context, _ *v1alpha1.TidbCluster, text string) error {
	if r.refused != nil {
		return r.refused
	}
	metav1.SetMetaDataAnnotation(&r.tc.ObjectMeta, topology.AnnotationRestore, text)
	return nil
}

func (r *records) ForgetRestore(context.Context, *v1alpha1.TidbCluster) error {
	delete(r.tc.Annotations, topology.AnnotationRestore)
	return r.refused
}

// restoring is a world in which a backup is restored.
type restoring struct {
	*world
	records *records
	has     []string // what the cluster has: before, and after BR has ended
	change  []string // what is under way in the cluster
	unseen  error    // why that is not known
	cancel  bool
}

func newRestoring(objects ...runtime.Object) *restoring {
	r := &restoring{world: newWorld(objects...), records: &records{tc: basic()}, has: []string{"", "table app.users"}}
	r.log, r.asked = restored, backup.Asked{URL: "s3://b/p", Secret: "s3", Does: backup.Restores}
	r.pd.Update(func(s *pd.FakeState) {
		s.Stores[0].Capacity, s.Stores[0].Available = 1<<30, 1<<20
		s.Settings = pd.ScheduleSettings{Schedulers: slices.Clone(intact.Schedulers), Numbers: map[string]float64{}}
		for key, n := range intact.Numbers {
			s.Settings.Numbers[key] = n
		}
	})
	r.kube.PrependReactor("patch", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if r.records.tc.Annotations[topology.AnnotationRestore] == "" {
			return true, nil, errors.New("BR would begin before the settings are recorded")
		}
		jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
		o, err := r.kube.Tracker().Get(jobs, "db", a.(clienttesting.PatchAction).GetName())
		if err != nil {
			return true, nil, err
		}
		job := o.(*batchv1.Job).DeepCopy()
		r.start(job)
		r.damage()
		return false, nil, r.kube.Tracker().Update(jobs, job, "db")
	})
	return r
}

// damage changes PD as a BR that is killed leaves it.
func (r *restoring) damage() {
	r.pd.Update(func(s *pd.FakeState) {
		s.Settings.Schedulers = []string{"balance-hot-region-scheduler", "evict-leader-scheduler"}
		for key, n := range map[string]float64{"region-schedule-limit": 40, "max-merge-region-size": 0, "leader-schedule-limit": 12, "max-snapshot-count": 80} {
			s.Settings.Numbers[key] = n
		}
	})
}

func (r *restoring) run(ctx context.Context, t *testing.T) error {
	t.Helper()
	r.dyn = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{edge.Resource: "BackupList"}, r.backups...)
	f := factory.New(genericiooptions.IOStreams{In: strings.NewReader(r.answer), Out: &r.out, ErrOut: &r.err}, func(string) string { return "" }, "")
	o := restoreOptions{asked: r.asked, dryRun: r.dryRun, cancel: r.cancel}
	if r.asked.Backup == "" {
		d, err := backup.ParseDestination(r.asked.URL)
		if err != nil {
			t.Fatal(err)
		}
		o.url = d
	}
	run := &restoration{restoreOptions: o, tidbcluster: r.records, work: r.work(f), holds: func(context.Context, string, string) (string, error) {
		what := r.has[0]
		r.has = r.has[1:]
		if what == "?" {
			return "", errors.New("no TiDB server can be asked for its tables")
		}
		return what, nil
	}, changes: func(context.Context) ([]string, error) { return r.change, r.unseen }}
	if r.cancel {
		return run.cancelled(ctx)
	}
	return run.make(ctx)
}

// wantIntact asserts that PD has its settings from before, and the number that somebody has raised meanwhile.
func (r *restoring) wantIntact(t *testing.T) {
	t.Helper()
	is, err := r.pd.ScheduleSettings(t.Context(), backup.Changed...)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(is.Schedulers)
	if !slices.Equal(is.Schedulers, intact.Schedulers) || is.Numbers["region-schedule-limit"] != 2048 || is.Numbers["max-merge-region-size"] != 20 || is.Numbers["max-snapshot-count"] < 64 || is.Numbers["leader-schedule-limit"] != 4 {
		t.Errorf("PD has %+v", is)
	}
	if text := r.records.tc.Annotations[topology.AnnotationRestore]; text != "" {
		t.Errorf("the record %s is left", text)
	}
}

// TestRestore: whatever the end, PD has its settings from before, and no Job is left.
func TestRestore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*restoring)
		code   exit.Code
		says   string
	}{
		"complete":      {func(*restoring) {}, exit.OK, ""},
		"nothing in it": {func(r *restoring) { r.has[1] = "" }, exit.Refused, "nothing was restored: the backup does not have any table"},
		"ended by TERM": {func(r *restoring) { r.log = "" }, exit.Failure, "BR has ended without saying that it has succeeded; see what is there of all data of the backup, and drop that"},
		"not readable": {func(r *restoring) {
			r.unread = apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "pod", errors.New("no"))
		}, exit.Forbidden, "restore basic-20260310-120000 has ended, but its result cannot be read"},
		"BR fails":         {func(r *restoring) { r.fails, r.log = true, "Error: failed to validate checksum\n" }, exit.Refused, "BR says: failed to validate checksum"},
		"TiDB is silent":   {func(r *restoring) { r.has[1] = "?" }, exit.Failure, "whether the cluster has it is not known: no TiDB server"},
		"earlier settings": {func(r *restoring) { r.recordEarlier("basic-earlier"); r.damage() }, exit.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestoring(credentials())
			c.change(r)
			err := r.run(t.Context(), t)
			if exit.Of(err) != c.code || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, %v; want %d, %q", exit.Of(err), err, c.code, c.says)
			}
			r.wantIntact(t)
			if stays := name == "not readable"; strings.Contains(r.left(t), "job") != stays {
				t.Errorf("left are %q", r.left(t))
			}
			if !strings.Contains(r.err.String(), "put back in PD, where BR has changed it: balance-leader-scheduler, balance-region-scheduler, leader-schedule-limit=4, max-merge-region-size=20, region-schedule-limit=2048") {
				t.Errorf("stderr %q", r.err.String())
			}
			if err == nil && !strings.HasPrefix(r.out.String(), "cluster db/basic has all data of the backup as of 20") {
				t.Errorf("stdout %q", r.out.String())
			}
		})
	}
}

// recordEarlier records the settings from before an earlier restore.
func (r *restoring) recordEarlier(restore string) {
	text, _ := backup.Settings{Restore: restore, Since: now, Cluster: 7000000000000000001, Schedulers: intact.Schedulers, Numbers: intact.Numbers}.Text()
	metav1.SetMetaDataAnnotation(&r.records.tc.ObjectMeta, topology.AnnotationRestore, text)
}

// saved is a Backup of a release and a size.
func saved(name, image string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "Backup", "metadata": map[string]any{"namespace": "db", "name": name},
		"spec": map[string]any{
			"s3": map[string]any{"bucket": "b", "prefix": "p", "provider": "", "secretName": "s3"}, "toolImage": image,
			"br": map[string]any{"cluster": "basic", "db": "app"},
		},
		"status": map[string]any{
			"phase": "Complete", "backupPath": "s3://b/p", "backupSize": size,
			"conditions": []any{map[string]any{"type": "Complete", "status": "True", "lastTransitionTime": nil}},
		},
	}}
}

// TestRestoreRefused: what would overwrite something or cannot succeed is refused before anything is made or recorded.
func TestRestoreRefused(t *testing.T) {
	from := func(b *unstructured.Unstructured) func(*restoring) {
		return func(r *restoring) {
			r.backups, r.asked = []runtime.Object{b}, backup.Asked{Backup: b.GetName(), Does: backup.Restores}
		}
	}
	for name, c := range map[string]struct {
		change func(*restoring)
		code   exit.Code
		says   string
		begun  bool // the Job stays, suspended
	}{
		"data is there":  {func(r *restoring) { r.has[0] = "table app.users" }, exit.Refused, "cluster db/basic has table app.users already, and a restore would write into it; nothing was changed", false},
		"TiDB is silent": {func(r *restoring) { r.has[0] = "?" }, exit.Failure, "whether cluster db/basic has the data already is not known", false},
		"PD is silent":   {func(r *restoring) { r.silent = true }, exit.Failure, "BR would wait for it without an end; nothing was changed", false},
		"an upgrade":     {func(r *restoring) { r.change = []string{"TiKV: 2 of 3 members to be restarted"} }, exit.Refused, "cluster db/basic is being changed (TiKV: 2 of 3 members to be restarted), and BR writes to all stores; nothing was changed", false},
		"not observed":   {func(r *restoring) { r.unseen = errors.New("the API server is away") }, exit.Failure, "whether cluster db/basic is being changed is not known: the API server is away; nothing was changed", false},
		"no credentials": {func(r *restoring) { r.asked.Secret = "" }, exit.Usage, "give a Secret with --from-secret, or a ServiceAccount", false},
		"no Secret":      {func(r *restoring) { r.asked.Secret = "none" }, exit.Refused, "there is no secret none in namespace db", false},
		"no Backup":      {func(r *restoring) { r.asked.Backup = "none" }, exit.Usage, "there is no backup none in namespace db; see those that are there: kubectl tidb backup list -n db", false},
		"a newer Backup": {from(saved("new", "pingcap/br:v8.5.0", 1)), exit.Refused, "the backup is of v8.5.0, and the cluster has v8.1.0", false},
		"too large":      {from(saved("large", "pingcap/br:v8.1.0", 1<<40)), exit.Refused, "the backup has 1.1 TB, which is 3.3 TB with 3 copies, and the stores of cluster db/basic have 1.0 MB left", false},
		"not recorded":   {func(r *restoring) { r.records.refused = errors.New("no") }, exit.Failure, "restore basic-20260310-120000 has not begun: no; begin it: kubectl tidb restore basic --from s3://b/p", true},
		"unknown record": {func(r *restoring) {
			metav1.SetMetaDataAnnotation(&r.records.tc.ObjectMeta, topology.AnnotationRestore, "later")
		}, exit.Refused, "see the annotation, which a later version may have written: kubectl get tidbcluster basic -o yaml -n db", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestoring(credentials())
			c.change(r)
			recorded := r.records.tc.Annotations[topology.AnnotationRestore]
			err := r.run(t.Context(), t)
			if exit.Of(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Errorf("exit code %d, %v; want %d, %q", exit.Of(err), err, c.code, c.says)
			}
			if strings.Contains(r.left(t), "job") != c.begun || len(r.pd.Writes()) > 0 || r.records.tc.Annotations[topology.AnnotationRestore] != recorded {
				t.Errorf("left are %q, written was %v, recorded is %v", r.left(t), r.pd.Writes(), r.records.tc.Annotations)
			}
		})
	}
}

// TestRestoreFromBackup: the Backup says where the data is, whose it is, and which Secret has the credentials.
func TestRestoreFromBackup(t *testing.T) {
	r := newRestoring(credentials())
	r.backups, r.asked, r.dryRun = []runtime.Object{saved("monday", "pingcap/br:v8.1.0", 0)}, backup.Asked{Backup: "monday", Does: backup.Restores}, flags.ClientDryRun
	if err := r.run(t.Context(), t); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.out.String(), "restore of database app from s3://b/p into cluster db/basic\njob.batch/basic-br-restore would be created (client dry run)\n") ||
		!strings.Contains(r.out.String(), "arguments of BR: restore db --pd=basic-pd:2379 --storage=s3://b/p --db=app") || strings.Contains(r.left(t), "job") {
		t.Errorf("%s, left are %q", r.out.String(), r.left(t))
	}
}

// TestRestoreUnderWay: the same command follows a restore, another one is refused, and --cancel ends it.
func TestRestoreUnderWay(t *testing.T) {
	begun := func(t *testing.T, runs bool) *restoring {
		r := newRestoring(credentials())
		r.runs, r.has = runs, []string{"table app.users"}
		r.begun(t, r.asked)
		r.recordEarlier("basic-earlier")
		r.damage()
		return r
	}
	r := begun(t, false)
	if err := r.run(t.Context(), t); err != nil || !strings.Contains(r.err.String(), "restore basic-earlier is under way already, and is followed") {
		t.Errorf("%v, %q", err, r.err.String())
	}
	r.wantIntact(t)

	r = begun(t, true) // another command has just resumed the Job, which this one has read before
	jobs := batchv1.SchemeGroupVersion.WithResource("jobs")
	job, err := r.kube.BatchV1().Jobs("db").Get(t.Context(), "basic-br-restore", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	suspended := true
	job.Spec.Suspend = &suspended
	if err := r.kube.Tracker().Update(jobs, job, "db"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-r.read
		cancel(exit.ErrInterrupted)
	}()
	if err := r.run(ctx, t); !errors.Is(err, exit.ErrInterrupted) || r.left(t) != earlier+" safepoint" {
		t.Errorf("%v, left are %q", err, r.left(t))
	}

	r = begun(t, true)
	r.asked.DB = "app"
	err = r.run(t.Context(), t)
	if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "follow it: kubectl tidb restore basic --from s3://b/p --from-secret s3 -n db; or end it: kubectl tidb restore basic --cancel -n db") || r.left(t) != earlier+" safepoint" {
		t.Errorf("%v, left are %q", err, r.left(t))
	}

	r = begun(t, true)
	r.cancel = true
	if err := r.run(t.Context(), t); err != nil || r.left(t) != "safepoint" || !strings.Contains(r.out.String(), "restore basic-earlier is cancelled") {
		t.Errorf("%v, left are %q, %q", err, r.left(t), r.out.String())
	}
	r.wantIntact(t)
}

// TestCancelAlone: the settings are put back also where the Job is gone. Those of another database are not.
func TestCancelAlone(t *testing.T) {
	r := newRestoring(credentials())
	r.cancel = true
	if err := r.run(t.Context(), t); exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "has no restore to cancel; nothing was changed") {
		t.Errorf("%v", err)
	}
	r.recordEarlier("basic-earlier")
	r.damage()
	if err := r.run(t.Context(), t); err != nil || !strings.Contains(r.out.String(), "has the settings of PD again that it had before the restore") {
		t.Errorf("%v, %q", err, r.out.String())
	}
	r.wantIntact(t)
	r.recordEarlier("basic-earlier")
	r.damage()
	r.pd.Update(func(s *pd.FakeState) { s.ClusterID++ })
	before := len(r.pd.Writes())
	if err := r.run(t.Context(), t); err != nil || len(r.pd.Writes()) != before || len(r.records.tc.Annotations) > 0 {
		t.Errorf("%v, %v, %v", err, r.pd.Writes(), r.records.tc.Annotations)
	}
	r.recordEarlier("basic-earlier")
	r.silent = true
	err := r.run(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), "PD's settings of before the restore are not put back: PD of cluster db/basic cannot be asked: silent; try again: kubectl tidb restore basic --cancel -n db") {
		t.Errorf("%v", err)
	}
}

// TestRestoreMayRun: while BR may run on a node that is lost, its settings are not put back, because it would change them again.
func TestRestoreMayRun(t *testing.T) {
	r := newRestoring(credentials())
	r.runs = true
	r.kube.PrependReactor("create", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		job := a.(clienttesting.CreateAction).GetObject().(*batchv1.Job) // whose pod runs as soon as it is resumed
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		return false, nil, nil
	})
	err := r.run(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), "BR may still run in its pod pod, so that PD's settings are not put back yet") || r.records.tc.Annotations[topology.AnnotationRestore] == "" {
		t.Errorf("%v, %v", err, r.records.tc.Annotations)
	}
	if writes := r.pd.Writes(); len(writes) > 0 {
		t.Errorf("%v", writes)
	}
}

// TestRestoreInterrupted: after Ctrl-C a restore goes on, or is cancelled if the user says so.
func TestRestoreInterrupted(t *testing.T) {
	r := newRestoring(credentials())
	r.runs = true
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-r.read
		cancel(exit.ErrInterrupted)
	}()
	if err := r.run(ctx, t); !errors.Is(err, exit.ErrInterrupted) || !strings.Contains(r.err.String(), "goes on; follow it: kubectl tidb restore basic --from s3://b/p --from-secret s3 -n db") {
		t.Errorf("%v, %q", err, r.err.String())
	}
	if r.records.tc.Annotations[topology.AnnotationRestore] == "" {
		t.Error("the record is gone")
	}
}

// TestRestoreBesideAnotherBR: while BR may run for a restore whose Job is deleted, no other one begins, and its settings are
// not put back.
func TestRestoreBesideAnotherBR(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		r := newRestoring(credentials())
		r.cancel, r.runs = cancel, true
		r.begun(t, r.asked)
		r.recordEarlier("basic-earlier")
		r.damage()
		if err := r.kube.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), "db", "basic-br-restore"); err != nil {
			t.Fatal(err)
		}
		err := r.run(t.Context(), t)
		if exit.Of(err) != exit.Refused || !strings.Contains(err.Error(), "BR may still run in pod pod of an earlier restore") || len(r.pd.Writes()) > 0 || r.left(t) != "safepoint" {
			t.Errorf("cancel %v: %v, %v, left are %q", cancel, err, r.pd.Writes(), r.left(t))
		}
	}
}

// TestRestoreOfAnotherDatabase: the record of a database that is gone is replaced by the settings of this one.
func TestRestoreOfAnotherDatabase(t *testing.T) {
	r := newRestoring(credentials())
	r.recordEarlier("basic-earlier")
	r.pd.Update(func(s *pd.FakeState) { s.ClusterID, s.Settings.Numbers["region-schedule-limit"] = 1, 512 })
	if err := r.run(t.Context(), t); err != nil || !strings.Contains(r.err.String(), "region-schedule-limit=512") {
		t.Errorf("%v, %q", err, r.err.String())
	}
}

// TestRestoreThenPDIsSilent: the restore has succeeded, and the same command puts the settings back later.
func TestRestoreThenPDIsSilent(t *testing.T) {
	r := newRestoring(credentials())
	r.kube.PrependReactor("patch", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		r.silent = true
		return false, nil, nil
	})
	err := r.run(t.Context(), t)
	if err == nil || !strings.Contains(err.Error(), "restore basic-20260310-120000 has succeeded, but: PD's settings of before the restore are not put back") || !strings.Contains(r.left(t), "job") {
		t.Errorf("%v, left are %q", err, r.left(t))
	}
	r.silent, r.has = false, []string{"table app.users"}
	if err := r.run(t.Context(), t); err != nil {
		t.Error(err)
	}
	r.wantIntact(t)
}

// TestRestoreSuspended: a command that was killed before BR began is continued by the same command.
func TestRestoreSuspended(t *testing.T) {
	r := newRestoring(credentials())
	r.kube.PrependReactor("patch", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("killed")
	})
	if err := r.run(t.Context(), t); err == nil || !strings.Contains(err.Error(), "begin it: kubectl tidb restore basic --from s3://b/p --from-secret s3 -n db") {
		t.Fatalf("%v", err)
	}
	r.kube.ReactionChain = r.kube.ReactionChain[1:]
	r.has = []string{"table app.users"}
	if err := r.run(t.Context(), t); err != nil || !strings.Contains(r.err.String(), "is under way already") {
		t.Errorf("%v, %q", err, r.err.String())
	}
	r.wantIntact(t)
}

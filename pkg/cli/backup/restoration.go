package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// restoration is one run of "restore".
type restoration struct {
	restoreOptions
	work
	tidbcluster interface {
		Load(ctx context.Context, namespace, name string) (*v1alpha1.TidbCluster, error)
		RecordRestore(ctx context.Context, tc *v1alpha1.TidbCluster, settings string) error
		ForgetRestore(ctx context.Context, tc *v1alpha1.TidbCluster) error
	}
	// holds returns what the cluster has of a table, of a database, or of all databases.
	holds func(ctx context.Context, db, table string) (string, error)
	// changes returns what is under way in the cluster, a line for each component.
	changes func(context.Context) ([]string, error)
	source  backup.Source // what is restored
}

// make restores the backup, or goes on with a restore that is the same.
func (r *restoration) make(ctx context.Context) error {
	if r.cluster.UsesOtherPD() {
		return exit.Refusef("%s has the PD of another cluster, so that a restore is one into that cluster; nothing was changed", target.Title(r.cluster))
	}
	job, err := r.jobs.Find(ctx, r.asked.JobName(r.cluster))
	switch {
	case err != nil:
		return err
	case job != nil:
		return r.join(ctx, job)
	}
	if err := r.resolve(ctx); err != nil {
		return err
	}
	request := r.request(r.asked, r.source.Destination)
	if err := r.check(ctx, request); err != nil {
		return err
	}
	if r.dryRun != flags.NoDryRun {
		return r.preview(ctx, request)
	}
	job, err = r.jobs.Create(ctx, request.Job(), false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return exit.Refusef("another command has begun a restore of %s at the same time; run the same command again", target.Title(r.cluster))
	case err != nil:
		return err
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "restore %s of %s from %s into %s: job %s is made\n",
		request.Name, request.Scope(), request.Path(), target.Title(r.cluster), job.Name)
	return r.begin(ctx, job, request)
}

// begin records PD's settings, and then has Kubernetes make the pod. The Job is made suspended before, because only one
// command at a time can make it. So no other restore changes PD while the settings are read. Where begin fails, the Job
// stays, because another command that was asked for the same may have begun it meanwhile.
func (r *restoration) begin(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	err := r.refuseBeside(ctx, request.Name)
	if err == nil {
		err = r.record(ctx, request.Name)
	}
	if err == nil {
		job, err = r.jobs.Resume(ctx, job)
		if apierrors.IsNotFound(err) { // another command has cancelled the restore, and BR has not begun
			return errors.Join(exit.With(exit.Aborted, fmt.Errorf("restore %s was cancelled: %w", request.Name, err)),
				r.putBack(context.WithoutCancel(ctx), request.Name))
		}
	}
	if err != nil {
		return remedy.For(fmt.Errorf("restore %s has not begun: %w", request.Name, exit.Ended(ctx, err)),
			remedy.Run("begin it", request.Command(r.cluster)), remedy.Run("give it up", r.cancellation()))
	}
	return r.follow(ctx, job, request)
}

// refuseBeside fails while BR may run for another restore than the named one. Its Job is deleted.
func (r *restoration) refuseBeside(ctx context.Context, restore string) error {
	pod, err := r.jobs.Restoring(ctx, r.cluster.Instance, restore)
	if err != nil || pod == nil {
		return err
	}
	return remedy.For(exit.Refusef("BR may still run in pod %s of an earlier restore", pod.Name),
		remedy.Run("see why it does not end", r.cluster.Kubectl("describe", "pod", pod.Name)), remedy.Say("try again when the pod is gone"))
}

// resolve reads the Backup that --from names.
func (r *restoration) resolve(ctx context.Context) error {
	r.source = backup.Source{Destination: r.url}
	if r.asked.Backup == "" {
		return nil
	}
	all, err := edge.Of(ctx, r.dyn, r.cluster.Namespace)
	if err != nil {
		return err
	}
	b, err := named(all, r.cluster.Namespace, r.asked.Backup)
	if err != nil {
		return err
	}
	r.asked = r.asked.ScopedBy(&b)
	from, flaw := backup.SourceOf(&b, r.asked)
	if flaw != "" {
		return remedy.For(exit.Refusef("backup %s cannot be restored: it %s; nothing was changed", b.Name, flaw),
			remedy.Run("see the backups", remedy.Plugin(r.cluster.Namespace, "backup", "list")))
	}
	r.source, r.asked.URL = from, from.URL()
	r.asked = r.asked.WithAccessOf(from)
	return nil
}

// join follows a restore that is under way and was asked for in the same way. Another one is refused.
func (r *restoration) join(ctx context.Context, job *batchv1.Job) error {
	asked, ours := backup.AskedOf(job)
	if r.asked.Backup == asked.Backup {
		r.asked = r.asked.As(asked) // the Backup may be gone meanwhile
	}
	switch {
	case !ours:
		return r.foreign(job, "restore")
	case !backup.IsSame(job, r.asked):
		return remedy.For(exit.Refusef("%s has a restore under way already: %s of %s from %s, since %s; nothing was changed",
			target.Title(r.cluster), backup.NameOf(job), asked.Scope(), strings.SplitN(asked.URL, "?", 2)[0], job.CreationTimestamp.UTC().Format(time.RFC3339)),
			remedy.Run("follow it", asked.Command(r.cluster)), remedy.Run("end it", r.cancellation()))
	case r.dryRun != flags.NoDryRun:
		fmt.Fprintf(r.f.Streams.Out, "restore %s is under way already; it would be followed\n", backup.NameOf(job))
		return nil
	}
	request, err := r.requestOf(job)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "restore %s is under way already, and is followed\n", request.Name)
	r.hide(ctx, r.asked.Secret)
	if backup.IsSuspended(job) {
		return r.begin(ctx, job, request)
	}
	return r.follow(ctx, job, request)
}

// cancellation is the command that ends a restore.
func (r *restoration) cancellation() remedy.Command { return r.cluster.Plugin("restore", "--cancel") }

// check refuses a restore that could not succeed or would overwrite something, before anything is made.
func (r *restoration) check(ctx context.Context, request backup.Request) error {
	c := r.cluster
	if err := r.refuse(ctx, request); err != nil {
		return err
	}
	if old := r.source.TooOld(c); old != "" {
		return remedy.For(exit.Refusef("%s, and BR restores into the same release or a newer one; nothing was changed", old),
			remedy.Run("upgrade the cluster first", c.Plugin("upgrade", r.source.Version)))
	}
	if err := r.refuseBeside(ctx, ""); err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if err := r.unchanging(ctx); err != nil {
		return err
	}
	if err := r.hasRoom(ctx); err != nil {
		return err
	}
	found, err := r.holds(ctx, r.asked.DB, r.asked.Table)
	switch {
	case err != nil:
		return fmt.Errorf("whether %s has the data already is not known: %w; nothing was changed", target.Title(c), err)
	case found != "":
		return remedy.For(exit.Refusef("%s has %s already, and a restore would write into it; nothing was changed", target.Title(c), found),
			remedy.Run("see what is there", c.Plugin("sql", "-e", "SHOW DATABASES")),
			remedy.Say("restore into a new cluster, or only a database or a table that is not there, with --db or --table"))
	}
	return nil
}

// unchanging refuses a restore into a cluster whose members are being restarted, added or removed. BR writes to all stores,
// and gives up when a store is away for long. While BR restores, changes of PD and of stores wait.
func (r *restoration) unchanging(ctx context.Context) error {
	left, err := r.changes(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("whether %s is being changed is not known: %w; nothing was changed", target.Title(r.cluster), err)
	case len(left) > 0:
		return remedy.For(exit.Refusef("%s is being changed (%s), and BR writes to all stores; nothing was changed", target.Title(r.cluster), strings.Join(left, "; ")),
			remedy.Run("bring that to its end, or wait for the command that does", r.cluster.Plugin("sync")))
	}
	return nil
}

// observeChanges compares the cluster with its TidbCluster.
func (r *restoration) observeChanges(ctx context.Context) ([]string, error) {
	u, err := check.ReadUnderway(ctx, r.session, r.cluster.Written)
	return u.Left, err
}

// hasRoom refuses a backup that is larger than what the stores have left. Each region has several copies.
func (r *restoration) hasRoom(ctx context.Context) error {
	client, err := r.pd(ctx)
	if err != nil {
		return fmt.Errorf("%w, and BR would wait for it without an end; nothing was changed", err)
	}
	stores, err := client.Stores(ctx)
	if err != nil {
		return fmt.Errorf("whether the stores have room is not known: %w; nothing was changed", err)
	}
	replication, err := client.ReplicationConfig(ctx)
	if err != nil {
		return fmt.Errorf("whether the stores have room is not known: %w; nothing was changed", err)
	}
	var room, known int64
	for i := range stores {
		switch s := &stores[i]; {
		case !s.Healthy() || s.Columnar():
		case s.Capacity == 0:
			return nil // PD does not know
		default:
			room, known = room+s.Available, known+1
		}
	}
	if known == 0 {
		return nil // stores that have just joined have not reported yet
	}
	if needs := r.source.Size * int64(replication.MaxReplicas); needs > room {
		return exit.Refusef("the backup has %s, which is %s with %d copies, and the stores of %s have %s left; nothing was changed",
			backup.Readable(r.source.Size), backup.Readable(needs), replication.MaxReplicas, target.Title(r.cluster), backup.Readable(room))
	}
	return nil
}

// observeHolds asks a TiDB server that was observed to serve.
func (r *restoration) observeHolds(ctx context.Context, db, table string) (string, error) {
	seen, err := r.session.Observe(ctx, r.f)
	if err != nil {
		return "", err
	}
	return r.session.Observer.Holds(ctx, r.cluster, seen.Snapshot, db, table)
}

// preview says what would be done. With server the API server has checked the Job.
func (r *restoration) preview(ctx context.Context, request backup.Request) error {
	out := r.f.Streams.Out
	fmt.Fprintf(out, "restore of %s from %s into %s\n", request.Scope(), request.Path(), target.Title(r.cluster))
	return r.previewJob(ctx, request, r.dryRun)
}

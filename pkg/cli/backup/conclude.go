package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// conclude records a backup whose Job has ended, and deletes the Job.
func (r *run) conclude(ctx context.Context, v edge.View, request backup.Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	if err := r.failed(v, request); err != nil {
		return errors.Join(err, r.jobs.Delete(ctx, v.Job), r.endAfter(ctx, v))
	}
	b, err := r.record(ctx, v, request)
	if err != nil {
		return remedy.For(fmt.Errorf("backup %s is complete at %s, but it is not recorded: %w", request.Name, request.Path(), err),
			remedy.Run("try again", request.Command(r.cluster)))
	}
	err = r.jobs.Delete(ctx, v.Job)
	if left := r.endAfter(ctx, v); left != nil {
		fmt.Fprintf(r.f.Streams.ErrOut, "warning: %s\n", remedy.Text(left, r.f.Context()))
	}
	return errors.Join(err, r.print(b))
}

// endAfter deletes the safepoint of BR after its Job. A Job has also ended when Kubernetes gives up a pod on a node that
// is lost. BR may run there, and needs its safepoint.
func (r *run) endAfter(ctx context.Context, v edge.View) error {
	if backup.EndOf(v.Pod, backup.ContainerBR) == nil {
		return nil
	}
	return r.endSafePoint(ctx, v.Log)
}

// failed returns why a backup whose Job has ended is none, nil where it is one.
func (r *run) failed(v edge.View, request backup.Request) error {
	_, succeeded := backup.Ended(v.Job)
	switch {
	case backup.TookTooLong(v.Job):
		return r.failure(request, "it has not ended within its deadline of "+(time.Duration(*v.Job.Spec.ActiveDeadlineSeconds)*time.Second).String()+", and Kubernetes has ended its pod", backup.Unexplained)
	case !succeeded:
		text, cause := backup.FailureOf(v.Pod, v.Log, v.Result)
		return r.failure(request, text, cause)
	case v.TS == 0:
		return r.failure(request, "no timestamp was read from what was written, or the log with it is gone", backup.Unreadable)
	case v.Log.TS != 0 && v.Log.TS != v.TS:
		return r.failure(request, fmt.Sprintf("the backup there has the data of timestamp %d, and BR has saved that of %d", v.TS, v.Log.TS), backup.Unreadable)
	case !v.Log.Sized && request.DB != "":
		return r.failure(request, "nothing was saved: "+request.Scope()+" does not exist, or has no table", backup.Empty)
	}
	return nil
}

// failure returns the error of a backup that has failed, with what can be done.
func (r *run) failure(request backup.Request, text string, cause backup.Cause) error {
	code := exit.Refused
	switch {
	case request.Run != "":
		code = exit.Aborted // another attempt of the run would begin another backup
	case cause == backup.Unexplained:
		code = exit.Failure
	}
	err := exit.With(code, fmt.Errorf("backup of %s to %s has failed: %s", target.Title(r.cluster), request.Path(), backup.Spoken(text, r.values...)))
	actions := r.advice(request, text, cause)
	if !cause.NeedsPerson() { // BR may have written something
		actions = append(actions, r.otherPrefix(request))
	}
	return remedy.For(err, actions...)
}

// record makes the Backup.
func (r *run) record(ctx context.Context, v edge.View, request backup.Request) (*v1alpha1.Backup, error) {
	o := backup.Outcome{TS: v.TS, Size: v.Log.Size, Started: v.Job.CreationTimestamp.Time, Completed: r.session.Now()}
	if end := backup.EndOf(v.Pod, backup.ContainerBR); end != nil {
		o.Started, o.Completed = end.StartedAt.Time, end.FinishedAt.Time
	}
	b := request.Record(o)
	if err := edge.Record(ctx, r.dyn, b); err != nil {
		return nil, err
	}
	if !v.Log.Sized {
		fmt.Fprintf(r.f.Streams.ErrOut, "warning: nothing was saved, as %s has no table\n", target.Title(r.cluster))
	}
	return b, nil
}

// print prints a backup that is complete.
func (r *run) print(b *v1alpha1.Backup) error {
	if r.output.JSON() {
		return output.Write(r.f.Streams.Out, recorded(b))
	}
	fmt.Fprintf(r.f.Streams.Out, "backup.pingcap.com/%s is complete: %s at %s, with the data of %s, in %s\n",
		b.Name, b.Status.BackupSizeReadable, b.Status.BackupPath, backup.DataOf(b).UTC().Format(time.RFC3339), b.Status.TimeTaken)
	return nil
}

package backup

import (
	"context"
	"errors"
	"fmt"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// follow follows a Job to its end, and concludes it.
func (r *run) follow(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	view, err := r.watch(ctx, job)
	_, cannotStart := errors.AsType[*stuckError](err)
	_, gone := errors.AsType[*edge.GoneError](err)
	switch {
	case err == nil, isUnread(err):
		return r.end(ctx, view, request, err)
	case cannotStart:
		return r.giveUp(ctx, job, view, request, err)
	case gone:
		return r.deleted(ctx, job, view, request)
	case errors.Is(err, exit.ErrInterrupted):
		return r.interrupted(ctx, job, view, request)
	}
	return remedy.For(exit.Ended(ctx, err), remedy.Run("the backup goes on; follow it", request.Command(r.cluster)))
}

func isUnread(err error) bool {
	_, is := errors.AsType[*edge.UnreadError](err)
	return is
}

// end concludes a backup whose Job has ended. Where the result cannot be read, because the node of the pod is lost, a
// complete backup is not recorded, and its Job stays. A Job that has failed is a backup that has failed.
func (r *run) end(ctx context.Context, v edge.View, request backup.Request, unread error) error {
	_, succeeded := backup.Ended(v.Job)
	switch {
	case unread == nil:
		return r.conclude(ctx, v, request)
	case !succeeded:
		fmt.Fprintf(r.f.Streams.ErrOut, "warning: %s\n", unread)
		return r.conclude(ctx, v, request)
	}
	help := []remedy.Action{remedy.Run("try again when the node of the pod is back", request.Command(r.cluster))}
	if denial.Of(unread).Permission() {
		help = []remedy.Action{remedy.Run("try again with the right to read logs of pods", request.Command(r.cluster))}
	}
	return remedy.For(fmt.Errorf("backup %s has ended at %s, but its result cannot be read and is not recorded: %w", request.Name, request.Path(), unread),
		append(help, remedy.Run("give it up; what it has written stays", r.cluster.Kubectl("delete", "job", v.Job.Name)))...)
}

// interrupted asks whether the backup is to be cancelled. Where nobody can be asked, it goes on.
func (r *run) interrupted(ctx context.Context, job *batchv1.Job, seen edge.View, request backup.Request) error {
	if r.agreesToCancel(ctx, fmt.Sprintf("\nBackup %s goes on without this command. Cancel it, and leave what it has written?", request.Name)) {
		if now := r.endedMeanwhile(ctx, job); now != nil {
			return r.follow(context.WithoutCancel(ctx), now, request)
		}
		return r.giveUp(ctx, job, seen, request, nil)
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "backup %s goes on; follow it: %s\n", request.Name, request.Command(r.cluster).Line(r.f.Context()))
	return exit.ErrInterrupted
}

// giveUp ends a backup that runs. The reason is nil where the user wants that.
func (r *run) giveUp(ctx context.Context, job *batchv1.Job, seen edge.View, request backup.Request, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	if err := r.jobs.Delete(ctx, job); err != nil {
		return fmt.Errorf("backup %s is not cancelled: %w", request.Name, err)
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "job %s is deleted; waiting until BR has ended\n", job.Name)
	if left, err := r.jobs.AwaitEnd(ctx, job); err != nil {
		// BR may run, and then it needs its safepoint.
		name := ""
		if left != nil {
			name = left.Name
		}
		return remedy.For(fmt.Errorf("backup %s is cancelled, but its pod %s is not gone yet, so its safepoint stays in PD: %w", request.Name, name, err),
			remedy.Run("see why", r.cluster.Kubectl("describe", "pod", name)))
	}
	if reason == nil {
		return r.givenUp(ctx, job, seen, request)
	}
	text, cause := reason.Error(), backup.NotStarted
	if stuck, ok := errors.AsType[*stuckError](reason); ok {
		cause = stuck.cause
	}
	return errors.Join(r.failure(request, text, cause), r.endSafePoint(ctx, seen.Log))
}

// deleted is for a Job that is gone: another command that follows the same backup has recorded it, or somebody has
// deleted the Job.
func (r *run) deleted(ctx context.Context, job *batchv1.Job, seen edge.View, request backup.Request) error {
	all, err := edge.Of(ctx, r.dyn, job.Namespace)
	if err != nil {
		return fmt.Errorf("job %s is deleted, and whether backup %s is complete is not known: %w", job.Name, request.Name, err)
	}
	for i := range all.Items {
		if b := &all.Items[i]; b.Name == request.Name && b.Status.Phase == v1alpha1.BackupComplete && b.Status.BackupPath == request.Path() {
			return r.print(b)
		}
	}
	return r.givenUp(ctx, job, seen, request)
}

// givenUp concludes a backup whose Job was deleted.
func (r *run) givenUp(ctx context.Context, job *batchv1.Job, seen edge.View, request backup.Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	left, err := r.jobs.AwaitEnd(ctx, job)
	if err == nil && left == nil {
		err = r.endSafePoint(ctx, seen.Log)
	}
	return errors.Join(exit.With(exit.Aborted, fmt.Errorf("backup %s of %s was cancelled, or another command has seen that it failed; what it has written stays at %s",
		request.Name, target.Title(r.cluster), request.Path())), err)
}

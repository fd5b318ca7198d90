package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// one deletes a Backup, after its files where they are to be deleted.
func (d *deletion) one(ctx context.Context, c *chosen) error {
	what := "is deleted"
	if c.files {
		if err := d.deleteFiles(ctx, c); err != nil {
			return err
		}
		what += ", with its files at " + c.at.Path()
	}
	if err := edge.Delete(ctx, d.dyn, &c.Backup); err != nil {
		return err
	}
	fmt.Fprintf(d.f.Streams.Out, "backup.pingcap.com/%s %s\n", c.Name, what)
	return nil
}

// deleteFiles deletes the files of a Backup. A deletion of the same files that is under way is followed.
func (d *deletion) deleteFiles(ctx context.Context, c *chosen) error {
	deletes := d.wanted(c, backup.Deletes)
	job, err := d.earlier(ctx, deletes)
	if err != nil {
		return err
	}
	if job == nil {
		if err := d.ready(ctx, c); err != nil {
			return err
		}
		if err := d.inspect(ctx, c); err != nil {
			return err
		}
		// From now on the backup may lack files.
		if err := edge.RecordTime(ctx, d.dyn, &c.Backup, backup.AnnotationDeleting, d.session.Now()); err != nil {
			return err
		}
		if job, err = d.make(ctx, deletes); err != nil {
			return err
		}
		fmt.Fprintf(d.f.Streams.ErrOut, "the files of backup %s at %s are being deleted: job %s is made\n", c.Name, c.at.Path(), job.Name)
	}
	view, err := d.carry(ctx, job, deletes)
	if err != nil {
		return err
	}
	if left := view.Listed; left.Count > 0 {
		fmt.Fprintf(d.f.Streams.ErrOut, "warning: %s at %s, which BR has not written for this backup: %s\n",
			remedy.Count(left.Count, "file is left", "files are left"), c.at.Path(), remedy.FirstFew(left.Paths(), ", "))
	}
	return nil
}

// wanted returns the Job for the files of a Backup.
func (d *deletion) wanted(c *chosen, does backup.Work) backup.Request {
	asked := d.asked.WithAccessOf(c.at)
	asked.Does, asked.Backup, asked.UID, asked.URL = does, c.Name, string(c.UID), c.at.URL()
	r := d.request(asked, c.at.Destination)
	r.Name = c.Name
	return r
}

// ready refuses a deletion that could not succeed, and one of files that BR reads or writes.
func (d *deletion) ready(ctx context.Context, c *chosen) error {
	if err := d.refuse(ctx, d.wanted(c, backup.Lists)); err != nil {
		return err
	}
	pod, err := d.jobs.UserOf(ctx, c.at.Destination)
	if err != nil || pod == nil {
		return err
	}
	return remedy.For(exit.Refusef("the files of backup %s cannot be deleted: BR may read or write at %s in pod %s; nothing was changed", c.Name, c.at.Path(), pod.Name),
		remedy.Run("see what it does", d.cluster.Kubectl("describe", "pod", pod.Name)))
}

// inspect refuses to delete files of another backup at the same place or in a folder of that place. The list of an earlier
// command is not taken, because it may be old.
func (d *deletion) inspect(ctx context.Context, c *chosen) error {
	lists := d.wanted(c, backup.Lists)
	old, err := d.jobs.Find(ctx, lists.JobName(d.cluster))
	if err == nil && old != nil {
		if _, ours := backup.AskedOf(old); !ours {
			return d.foreign(old, "deletion")
		}
		err = d.jobs.Delete(ctx, old)
	}
	if err != nil {
		return err
	}
	job, err := d.make(ctx, lists)
	if err != nil {
		return err
	}
	view, err := d.carry(ctx, job, lists)
	if err != nil {
		return err
	}
	why := view.Listed.Forbids(&c.Backup)
	if why == "" {
		return nil
	}
	return remedy.For(exit.Refusef("the files of backup %s cannot be deleted from %s: %s; no file was deleted", c.Name, c.at.Path(), why), leaveFiles(&c.Backup))
}

// leaveFiles is the command that deletes a Backup alone.
func leaveFiles(b *v1alpha1.Backup) remedy.Action {
	return remedy.Run("delete the Backup, and leave its files", remedy.Plugin(b.Namespace, "backup", "delete", b.Name, "--files=false"))
}

// earlier returns the Job of an earlier command that was asked for the same, nil if there is none.
func (d *deletion) earlier(ctx context.Context, request backup.Request) (*batchv1.Job, error) {
	job, err := d.jobs.Find(ctx, request.JobName(d.cluster))
	if err != nil || job == nil {
		return nil, err
	}
	asked, ours := backup.AskedOf(job)
	switch {
	case !ours:
		return nil, d.foreign(job, "deletion")
	case !backup.IsSame(job, request.Asked):
		return nil, remedy.For(exit.Refusef("job %s of namespace %s is for the files of backup %s; nothing was changed", job.Name, job.Namespace, asked.Backup),
			remedy.Run("go on with that first", asked.Command(d.cluster)), remedy.Run("give it up", d.cluster.Kubectl("delete", "job", job.Name)))
	}
	fmt.Fprintf(d.f.Streams.ErrOut, "job %s, which began at %s, is followed\n", job.Name, job.CreationTimestamp.UTC().Format(time.RFC3339))
	d.hide(ctx, request.Secret)
	return job, nil
}

// make makes a Job.
func (d *deletion) make(ctx context.Context, request backup.Request) (*batchv1.Job, error) {
	job, err := d.jobs.Create(ctx, request.Job(), false)
	if apierrors.IsAlreadyExists(err) {
		return nil, exit.Refusef("another command has begun to delete a backup of %s at the same time; run the same command again", d.of)
	}
	return job, err
}

// carry follows a Job to its end, and deletes it. It fails where the Job has not done all of its work.
func (d *deletion) carry(ctx context.Context, job *batchv1.Job, request backup.Request) (edge.View, error) {
	view, err := d.watch(ctx, job)
	stuck, cannotStart := errors.AsType[*stuckError](err)
	_, gone := errors.AsType[*edge.GoneError](err)
	again := remedy.Run("go on", request.Command(d.cluster))
	switch {
	case err == nil:
		return view, errors.Join(d.failure(view, request), d.end(ctx, job))
	case cannotStart:
		return view, errors.Join(d.failed(request, stuck.Error(), stuck.cause), d.end(ctx, job))
	case gone:
		return view, remedy.For(exit.With(exit.Aborted, fmt.Errorf("job %s was deleted by somebody else", job.Name)), again)
	case isUnread(err):
		return view, remedy.For(fmt.Errorf("job %s has ended, but its result cannot be read: %w", job.Name, err),
			again, remedy.Run("give it up", d.cluster.Kubectl("delete", "job", job.Name)))
	}
	if request.Does == backup.Lists {
		return view, errors.Join(exit.Ended(ctx, err), d.end(ctx, job))
	}
	return view, remedy.For(exit.Ended(ctx, err), remedy.Run("job "+job.Name+" goes on; follow it", request.Command(d.cluster)))
}

// failure returns why a Job that has ended has not done its work, nil where it has. Only a list with its end says what is
// there.
func (d *deletion) failure(v edge.View, request backup.Request) error {
	_, succeeded := backup.Ended(v.Job)
	switch {
	case !succeeded:
		text, cause := backup.FilesFailure(v.Pod, v.Deleted, v.Listed)
		return d.failed(request, text, cause)
	case !v.Listed.Whole:
		return d.failed(request, "the list of files at the place has no end, or the log with it is gone", backup.Unexplained)
	}
	return nil
}

func (d *deletion) failed(request backup.Request, text string, cause backup.Cause) error {
	code, what := exit.Refused, "not deleted"
	if cause == backup.Unexplained {
		code = exit.Failure
	}
	if request.Does == backup.Deletes {
		what = "not all deleted"
	}
	return remedy.For(exit.With(code, fmt.Errorf("the files of backup %s at %s are %s: %s", request.Backup, request.Path(), what, backup.Spoken(text, d.values...))),
		append(d.advice(request, text, cause), remedy.Run("try again", request.Command(d.cluster)))...)
}

// end deletes a Job that has ended.
func (d *deletion) end(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	return d.jobs.Delete(ctx, job)
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// one deletes a Backup, after the files where these are to be deleted.
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
		if err := d.inspect(ctx, c); err != nil {
			return err
		}
		if job, err = d.mark(ctx, c, deletes); err != nil {
			return err
		}
		fmt.Fprintf(d.f.Streams.ErrOut, "the files of backup %s at %s are being deleted: job %s is made\n", c.Name, c.at.Path(), job.Name)
	} else {
		fmt.Fprintf(d.f.Streams.ErrOut, "job %s, which began at %s, is followed\n", job.Name, job.CreationTimestamp.UTC().Format(time.RFC3339))
		d.hide(ctx, deletes.Secret)
	}
	view, err := d.carry(ctx, c, job, deletes)
	if _, gone := errors.AsType[*edge.GoneError](err); gone && !d.isThere(ctx, c.UID) {
		return nil // another command has followed the same Job
	}
	left := view.Listed
	switch {
	case err != nil:
		return err
	case left.OfBR > 0:
		return d.failed(deletes, fmt.Sprintf("%s there afterwards, such as %s", remedy.Count(left.OfBR, "file of BR is", "files of BR are"), remedy.FirstFew(left.Paths(), ", ")), backup.Unexplained)
	case left.Count > 0:
		fmt.Fprintf(d.f.Streams.ErrOut, "warning: %s at %s, which BR does not write for a backup: %s\n",
			remedy.Count(left.Count, "file is left", "files are left"), c.at.Path(), remedy.FirstFew(left.Paths(), ", "))
	}
	return nil
}

// mark records in a Backup that it may lack files from now on, and makes the Job that deletes them. A restore that has begun
// since the last look reads the Backup before the mark, so that this looks again.
func (d *deletion) mark(ctx context.Context, c *chosen, deletes backup.Request) (*batchv1.Job, error) {
	if err := edge.RecordTime(ctx, d.dyn, &c.Backup, backup.AnnotationDeleting, d.session.Now()); err != nil {
		return nil, err
	}
	err := d.checkUse(ctx, c)
	if err == nil {
		var job *batchv1.Job
		if job, err = d.make(ctx, deletes); err == nil {
			return job, nil
		}
	}
	return nil, errors.Join(err, d.unmark(ctx, c))
}

// unmark takes the mark back while no file was deleted. A mark of an earlier command stays. So does the mark while a Job
// deletes the files, which another command may have made meanwhile.
func (d *deletion) unmark(ctx context.Context, c *chosen) error {
	if backup.IsMarked(&c.Backup) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	deletes := d.wanted(c, backup.Deletes)
	job, err := d.jobs.Find(ctx, deletes.JobName(d.cluster))
	if err != nil || job != nil && backup.IsForSameFiles(job, deletes.Asked) {
		return err
	}
	return edge.RecordTime(ctx, d.dyn, &c.Backup, backup.AnnotationDeleting, time.Time{})
}

// isThere reports whether there is a Backup of a UID, or nobody knows.
func (d *deletion) isThere(ctx context.Context, uid types.UID) bool {
	all, err := edge.Of(ctx, d.dyn, d.cluster.Namespace)
	return err != nil || slices.ContainsFunc(all.Items, func(b v1alpha1.Backup) bool { return b.UID == uid })
}

// wanted returns the Job for the files of a Backup.
func (d *deletion) wanted(c *chosen, does backup.Work) backup.Request {
	asked := d.asked.WithAccessOf(c.at)
	asked.Does, asked.Backup, asked.UID, asked.URL = does, c.Name, string(c.UID), c.at.URL()
	return d.request(asked, c.at.Destination)
}

// checkUse refuses a deletion that could not succeed, and one of files that BR reads or writes.
func (d *deletion) checkUse(ctx context.Context, c *chosen) error {
	if err := d.refuse(ctx, d.wanted(c, backup.Lists)); err != nil {
		return err
	}
	by, err := d.jobs.UserOf(ctx, c.at.Destination, d.cluster)
	if err != nil || by == "" {
		return err
	}
	return remedy.For(exit.Refusef("the files of backup %s cannot be deleted: BR may read or write at %s in %s; none of its files was deleted", c.Name, c.at.Path(), by),
		remedy.Run("see what it does", d.cluster.Kubectl(append([]string{"describe"}, strings.Fields(by)...)...)))
}

// inspect refuses to delete files of another backup at the same place, below or above it. The list of an earlier command is
// made again, because it may be old.
func (d *deletion) inspect(ctx context.Context, c *chosen) error {
	lists := d.wanted(c, backup.Lists)
	old, err := d.jobs.Find(ctx, lists.JobName(d.cluster))
	if err != nil {
		return err
	}
	if old != nil {
		if err := d.discard(ctx, old, lists); err != nil {
			return err
		}
	}
	job, err := d.make(ctx, lists)
	if err != nil {
		return err
	}
	view, err := d.carry(ctx, c, job, lists)
	if err != nil {
		return err
	}
	var above *backup.Listing
	if lists.ListsAbove() {
		above = &view.First
	}
	why := view.Listed.Forbids(&c.Backup, above)
	if why == "" {
		return nil
	}
	return remedy.For(exit.Refusef("the files of backup %s cannot be deleted from %s: %s; none of its files was deleted", c.Name, c.at.Path(), why), leaveFiles(&c.Backup))
}

// discard deletes the list of an earlier command. A list that another command waits for is left.
func (d *deletion) discard(ctx context.Context, old *batchv1.Job, lists backup.Request) error {
	asked, ours := backup.AskedOf(old)
	ended, _ := backup.Ended(old)
	switch {
	case !ours:
		return d.foreign(old, "deletion")
	case !ended && !backup.IsForSameFiles(old, lists.Asked):
		return d.inTheWay(old, asked)
	}
	return d.jobs.Delete(ctx, old)
}

// leaveFiles is the command that deletes a Backup alone.
func leaveFiles(b *v1alpha1.Backup) remedy.Action {
	return remedy.Run("delete the Backup, and leave its files", remedy.Plugin(b.Namespace, "backup", "delete", b.Name, "--files=false"))
}

// earlier returns the Job of an earlier command that deletes the same files, nil if there is none. A Job that has ended and
// whose Backup is gone is deleted.
func (d *deletion) earlier(ctx context.Context, request backup.Request) (*batchv1.Job, error) {
	job, err := d.jobs.Find(ctx, request.JobName(d.cluster))
	if err != nil || job == nil {
		return nil, err
	}
	asked, ours := backup.AskedOf(job)
	ended, _ := backup.Ended(job)
	switch {
	case !ours:
		return nil, d.foreign(job, "deletion")
	case backup.IsForSameFiles(job, request.Asked):
		return job, nil
	case ended && !d.isThere(ctx, types.UID(asked.UID)):
		if d.dryRun != flags.NoDryRun {
			return nil, nil
		}
		return nil, d.jobs.Delete(ctx, job)
	}
	return nil, d.inTheWay(job, asked)
}

// inTheWay refuses a deletion while a Job works for another Backup beside the same cluster.
func (d *deletion) inTheWay(job *batchv1.Job, asked backup.Asked) error {
	return remedy.For(exit.Refusef("job %s of namespace %s is for the files of backup %s; no other file was deleted", job.Name, job.Namespace, asked.Backup),
		remedy.Run("go on with that first", asked.Command(d.cluster)), remedy.Run("give it up", d.cluster.Kubectl("delete", "job", job.Name)))
}

// make makes a Job.
func (d *deletion) make(ctx context.Context, request backup.Request) (*batchv1.Job, error) {
	job, err := d.jobs.Create(ctx, request.Job(), false)
	if apierrors.IsAlreadyExists(err) {
		return nil, exit.Refusef("another command has begun to delete a backup of %s at the same time; run the same command again", d.cluster.Name)
	}
	return job, err
}

// carry follows a Job to the end, and deletes the Job. It fails where the Job has not done all of the work.
func (d *deletion) carry(ctx context.Context, c *chosen, job *batchv1.Job, request backup.Request) (edge.View, error) {
	view, err := d.watch(ctx, job)
	stuck, cannotStart := errors.AsType[*stuckError](err)
	_, gone := errors.AsType[*edge.GoneError](err)
	again := remedy.Run("go on", request.Command(d.cluster))
	switch {
	case err == nil:
		return view, errors.Join(d.failure(view, request), d.end(ctx, job))
	case cannotStart:
		err := errors.Join(d.failed(request, stuck.Error(), stuck.cause), d.end(ctx, job))
		if request.Does == backup.Deletes && !backup.HasRun(view.Pod, backup.ContainerFiles) {
			err = errors.Join(err, d.unmark(ctx, c))
		}
		return view, err
	case gone:
		return view, remedy.For(exit.With(exit.Aborted, fmt.Errorf("%w: another command or somebody else has deleted it", err)), again)
	case isUnread(err):
		return view, remedy.For(fmt.Errorf("job %s has ended, but its result cannot be read: %w", job.Name, err),
			again, remedy.Run("give it up", d.cluster.Kubectl("delete", "job", job.Name)))
	}
	if request.Does == backup.Lists {
		return view, errors.Join(exit.Ended(ctx, err), d.end(ctx, job))
	}
	return view, remedy.For(exit.Ended(ctx, err), remedy.Run("job "+job.Name+" goes on; follow it", request.Command(d.cluster)))
}

// failure returns why a Job that has ended has not done the work, nil for a Job that has. Only a whole list says what is
// there.
func (d *deletion) failure(v edge.View, request backup.Request) error {
	_, succeeded := backup.Ended(v.Job)
	switch {
	case !succeeded:
		text, cause := backup.FilesFailure(v.Pod, v.First, v.Listed)
		return d.failed(request, text, cause)
	case !v.Listed.Whole:
		return d.failed(request, "the list of files at the place has no end, or the log with it is gone", backup.Unexplained)
	}
	return nil
}

// failed returns the error of a Job that has not done its work. The mark stays where some files may be gone.
func (d *deletion) failed(request backup.Request, text string, cause backup.Cause) error {
	code, what := exit.Refused, "not deleted"
	if cause == backup.Unexplained {
		code = exit.Failure
	}
	actions := append(d.advice(request, text, cause), remedy.Run("try again", request.Command(d.cluster)))
	if request.Does == backup.Deletes {
		what = "not all deleted"
		actions = append(actions, remedy.Run("keep the backup, where all files are there", d.cluster.Kubectl(
			"annotate", edge.Resource.GroupResource().String(), request.Backup, backup.AnnotationDeleting+"-"), remedy.Plugin(d.cluster.Namespace, "backup", "verify", request.Backup)))
	}
	return remedy.For(exit.With(code, fmt.Errorf("the files of backup %s at %s are %s: %s", request.Backup, request.Path(), what, backup.Spoken(text, d.values...))), actions...)
}

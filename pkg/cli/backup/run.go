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

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// run is one run of "backup create".
type run struct {
	options
	work
}

func (o options) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	on, err := connect(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer on.session.Close()
	r := &run{options: o, work: on}
	return r.make(ctx)
}

// make makes the backup, or goes on with one that is the same.
func (r *run) make(ctx context.Context) error {
	job, err := r.jobs.Find(ctx, r.asked.JobName(r.cluster))
	if err != nil {
		return err
	}
	if job != nil && !backup.IsSame(job, r.asked) {
		if err := r.concludeOther(ctx, job); err != nil {
			return err
		}
		job = nil
	}
	if job != nil {
		if r.dryRun != flags.NoDryRun {
			fmt.Fprintf(r.f.Streams.Out, "backup %s is under way already; it would be followed\n", backup.NameOf(job))
			return nil
		}
		fmt.Fprintf(r.f.Streams.ErrOut, "backup %s is under way already, and is followed\n", backup.NameOf(job))
		r.hide(ctx, r.asked.Secret)
		request, err := r.requestOf(job)
		if err != nil {
			return err
		}
		return r.follow(ctx, job, request)
	}
	if made, err := r.madeBefore(ctx); made || err != nil {
		return err
	}
	request := r.request(r.asked, r.destination)
	if err := r.check(ctx, request); err != nil {
		return err
	}
	if r.dryRun != flags.NoDryRun {
		return r.preview(ctx, request)
	}
	job, err = r.jobs.Create(ctx, request.Job(), false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.overtaken(ctx)
	case err != nil:
		return err
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "backup %s of %s of %s to %s: job %s is made\n",
		request.Name, r.asked.Scope(), target.Title(r.cluster), request.Path(), job.Name)
	return r.follow(ctx, job, request)
}

// madeBefore prints the backup that an earlier attempt of the same run has made, and reports whether there is one.
func (r *run) madeBefore(ctx context.Context) (bool, error) {
	if r.asked.Run == "" {
		return false, nil
	}
	found, err := edge.Of(ctx, r.dyn, r.cluster.Namespace)
	if _, none := errors.AsType[*edge.NoResourceError](err); none {
		return false, nil // check refuses the backup then
	}
	if err != nil {
		return false, err
	}
	b := r.asked.MadeBy(r.cluster, r.destination, found.Items)
	if b == nil {
		return false, nil
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "run %s has made backup %s before; nothing was changed\n", r.asked.Run, b.Name)
	return true, r.print(b)
}

// concludeOther concludes the Job of another backup, which has ended, and whose command was killed. It refuses while the
// Job has not ended.
func (r *run) concludeOther(ctx context.Context, job *batchv1.Job) error {
	asked, ours := backup.AskedOf(job)
	ended, _ := backup.Ended(job)
	switch {
	case !ours:
		return r.foreign(job, "backup")
	case !ended:
		return r.underWay(job, asked)
	case r.dryRun != flags.NoDryRun:
		fmt.Fprintf(r.f.Streams.Out, "backup %s has ended and would be concluded first\n", backup.NameOf(job))
		r.dryRun = flags.ClientDryRun // for the API server the Job is in the way until then
		return nil
	}
	request, err := r.requestOf(job)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "backup %s has ended, and is concluded first\n", backup.NameOf(job))
	r.hide(ctx, asked.Secret)
	view, err := r.jobs.Follow(ctx, job, func(edge.View) {})
	_, gone := errors.AsType[*edge.GoneError](err)
	switch {
	case gone:
		return nil // another command has concluded it
	case err != nil && !isUnread(err):
		return err
	}
	err = r.end(ctx, view, request, err)
	if err == nil {
		return nil
	}
	left, unfound := r.jobs.Find(ctx, job.Name)
	if unfound != nil || left != nil && left.UID == job.UID {
		return errors.Join(err, unfound) // its Job is in the way, as a complete backup may not be recorded yet
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "warning: %s\n", remedy.Text(err, r.f.Context()))
	return nil
}

// underWay refuses a second backup.
func (r *run) underWay(job *batchv1.Job, asked backup.Asked) error {
	return remedy.For(exit.Refusef("%s has a backup under way already: %s of %s to %s, since %s; nothing was changed",
		target.Title(r.cluster), backup.NameOf(job), asked.Scope(), strings.SplitN(asked.URL, "?", 2)[0], job.CreationTimestamp.UTC().Format(time.RFC3339)),
		remedy.Run("follow it", asked.Command(r.cluster)),
		remedy.Run("give it up", r.cluster.Kubectl("delete", "job", job.Name)))
}

// overtaken is for a Job that another command has made a moment before.
func (r *run) overtaken(ctx context.Context) error {
	job, err := r.jobs.Find(ctx, r.asked.JobName(r.cluster))
	if err != nil {
		return err
	}
	if job == nil {
		return errors.New("another command has begun a backup and ended it at the same time; run the same command again")
	}
	asked, _ := backup.AskedOf(job)
	if !backup.IsSame(job, r.asked) {
		return r.underWay(job, asked)
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "backup %s is under way already, and is followed\n", backup.NameOf(job))
	request, err := r.requestOf(job)
	if err != nil {
		return err
	}
	return r.follow(ctx, job, request)
}

// check refuses a backup that could not succeed, before anything is made.
func (r *run) check(ctx context.Context, request backup.Request) error {
	if err := r.refuse(ctx, request); err != nil {
		return err
	}
	found, err := edge.Of(ctx, r.dyn, r.cluster.Namespace)
	if none, ok := errors.AsType[*edge.NoResourceError](err); ok {
		return undefined(none, "the result could not be recorded; nothing was changed")
	}
	if err != nil {
		return err
	}
	if holder := request.Holder(found.Items); holder != "" {
		return remedy.For(exit.Refusef("%s has a backup already, %s; nothing was changed", request.Path(), holder), r.otherPrefix(request))
	}
	if err := r.refuseInside(found.Items); err != nil {
		return err
	}
	if _, err := r.pd(ctx); err != nil {
		return fmt.Errorf("%w, and BR would wait for it without an end; nothing was changed", err)
	}
	return nil
}

// refuseInside refuses a prefix inside of another backup.
func (r *run) refuseInside(all []v1alpha1.Backup) error {
	if r.asked.In == "" {
		return nil
	}
	return refuseOuter(r.destination, all)
}

// refuseOuter refuses a prefix at which another backup is, or above which one is.
func refuseOuter(in backup.Destination, all []v1alpha1.Backup) error {
	if outer := in.Outer(all); outer != "" {
		return remedy.For(exit.Refusef("%s is inside of the place of backup %s, so that backups there could not be deleted; nothing was changed", in.Path(), outer),
			remedy.Say("give another prefix with --in"))
	}
	return nil
}

// otherPrefix is the same command with a prefix that is new. It is no folder of the first one, whose files could not be
// deleted then.
func (r *run) otherPrefix(request backup.Request) remedy.Action {
	asked := request.Asked
	if asked.In != "" {
		return remedy.Run("try again, which writes to another folder", asked.Command(r.cluster))
	}
	d := request.Destination
	d.Prefix += "-" + strings.TrimPrefix(backup.Name(r.cluster, r.session.Now()), r.cluster.Name+"-")
	asked.URL = d.URL()
	return remedy.Run("write to another prefix", asked.Command(r.cluster))
}

// preview says what would be done. With server the API server has checked the Job.
func (r *run) preview(ctx context.Context, request backup.Request) error {
	out := r.f.Streams.Out
	fmt.Fprintf(out, "backup of %s of %s to %s\n", r.asked.Scope(), target.Title(r.cluster), request.Path())
	if err := r.previewJob(ctx, request, r.dryRun); err != nil {
		return err
	}
	fmt.Fprintf(out, "backup.pingcap.com/%s would be created when it is complete\n", request.Name)
	return nil
}

// recorded is the JSON form of a Backup.
func recorded(b *v1alpha1.Backup) view {
	v := view{
		Name: b.Name, Namespace: b.Namespace, Phase: backup.PhaseOf(b), Path: b.Status.BackupPath, Size: b.Status.BackupSize,
		CommitTS: b.Status.CommitTs, Image: b.Spec.ToolImage, Scope: backup.ScopeOf(b), Taken: b.Status.TimeTaken, Verified: backup.VerifiedOf(b), Drilled: backup.DrilledAt(b),
		Damaged: b.Annotations[backup.AnnotationDamaged],
	}
	if b.Spec.BR != nil {
		v.Cluster = b.Spec.BR.Cluster
	}
	if at := backup.DataOf(b); !at.IsZero() {
		v.DataTime = at.UTC().Format(time.RFC3339)
	}
	if !b.Status.TimeCompleted.IsZero() {
		v.Finished = b.Status.TimeCompleted.UTC().Format(time.RFC3339)
	}
	return v
}

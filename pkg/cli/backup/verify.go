package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// verifyOptions are the flags and the argument of "backup verify".
type verifyOptions struct {
	name    string // of the Backup
	beside  string // the name of a cluster
	asked   backup.Asked
	dryRun  flags.DryRun
	timeout time.Duration
	output  output.Format
}

func newVerify(f *factory.Factory) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify BACKUP",
		Short: "Read all files of a backup, and compare their sums",
		Long: `Read all files of a backup, and compare the sum of each one with the sum that BR wrote down
when it made the backup. So a file that is damaged, cut off or gone is found before the
backup is needed. A Job with BR alone does it; no cluster is asked, and nothing is changed
but the Backup, which gets the time at which it was found intact.

That all files are intact does not say that they have the right data: only a restore does.

The pod runs in the namespace of the Backup's cluster, with the node selector, tolerations and
pull secrets of the cluster. Without --from-secret and --service-account, those of the Backup
are used. Ctrl-C asks whether the verification is to end. If not, it goes on; run the same
command again to follow it.`,
		Example: `  kubectl tidb backup verify basic-20260310-020000

  # Of a cluster that is gone: beside another one
  kubectl tidb backup verify basic-20260310-020000 --cluster other`,
		SuggestFor:        []string{"check", "test", "validate"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeBackup(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if o.timeout < 0 {
				return exit.Usagef("--timeout must not be negative")
			}
			return o.run(cmd.Context(), f)
		},
	}
	set := cmd.Flags()
	set.StringVar(&o.beside, "cluster", "", "Cluster beside which the pod runs. Without it, that of the Backup.")
	bindAccess(cmd, f, &o.asked)
	o.dryRun.Bind(cmd)
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop following after this long, e.g. 30m; the verification goes on. Zero follows to the end.")
	o.output.Bind(cmd, "With json, the result as one object on stdout.")
	return cmd
}

// verification is one run of "backup verify".
type verification struct {
	verifyOptions
	work
	backup v1alpha1.Backup
}

func (o verifyOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	b, err := find(ctx, f, o.name)
	if err != nil {
		return err
	}
	on, err := connectBeside(ctx, f, &b, o.beside)
	if err != nil {
		return err
	}
	defer on.session.Close()
	v := &verification{verifyOptions: o, work: on, backup: b}
	return v.make(ctx)
}

// make verifies the backup, or goes on with a verification of the same.
func (r *verification) make(ctx context.Context) error {
	from, flaw := backup.SourceOf(&r.backup, backup.Asked{}.ScopedBy(&r.backup))
	if flaw != "" {
		return remedy.For(exit.Refusef("backup %s cannot be verified: it %s; nothing was changed", r.name, flaw),
			remedy.Run("see the backups", remedy.Plugin(r.cluster.Namespace, "backup", "list")))
	}
	if old := from.TooOld(r.cluster); old != "" && r.asked.Image == "" {
		return remedy.For(exit.Refusef("%s, and an older BR may not know all files of the backup; nothing was changed", old),
			remedy.Say("give an image of BR that fits with --image"))
	}
	r.asked.Does, r.asked.Backup, r.asked.UID, r.asked.URL = backup.Verifies, r.name, string(r.backup.UID), from.URL()
	r.asked = r.asked.WithAccessOf(from)
	request := r.request(r.asked, from.Destination)
	job, err := r.jobs.Find(ctx, r.asked.JobName(r.cluster))
	switch {
	case err != nil:
		return err
	case job != nil:
		return r.join(ctx, job, request)
	}
	if err := r.refuse(ctx, request); err != nil {
		return err
	}
	if r.dryRun != flags.NoDryRun {
		fmt.Fprintf(r.f.Streams.Out, "verification of backup %s at %s\n", r.name, request.Path())
		return r.previewJob(ctx, request, r.dryRun)
	}
	job, err = r.jobs.Create(ctx, request.Job(), false)
	switch {
	case apierrors.IsAlreadyExists(err):
		return exit.Refusef("another command has begun to verify a backup of %s at the same time; run the same command again", r.cluster.Name)
	case err != nil:
		return err
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "verification of backup %s at %s: job %s is made\n", r.name, request.Path(), job.Name)
	return r.follow(ctx, job, request)
}

// join follows a verification that is under way and was asked for in the same way. Another one is refused.
func (r *verification) join(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	asked, ours := backup.AskedOf(job)
	switch {
	case !ours:
		return r.foreign(job, "verification")
	case !backup.IsSame(job, r.asked):
		return remedy.For(exit.Refusef("job %s of namespace %s verifies backup %s, or has done so; nothing was changed", job.Name, job.Namespace, asked.Backup),
			remedy.Run("see its result", asked.Command(r.cluster)), remedy.Run("give it up", r.cluster.Kubectl("delete", "job", job.Name)))
	case r.dryRun != flags.NoDryRun:
		fmt.Fprintf(r.f.Streams.Out, "a verification of backup %s is under way already; it would be followed\n", r.name)
		return nil
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "a verification of backup %s that began at %s is followed\n", r.name, job.CreationTimestamp.UTC().Format(time.RFC3339))
	r.hide(ctx, r.asked.Secret)
	return r.follow(ctx, job, request)
}

// follow follows a Job to its end.
func (r *verification) follow(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	view, err := r.watch(ctx, job)
	stuck, cannotStart := errors.AsType[*stuckError](err)
	_, gone := errors.AsType[*edge.GoneError](err)
	switch {
	case err == nil:
		return r.conclude(ctx, view, request)
	case isUnread(err):
		return remedy.For(fmt.Errorf("the verification of backup %s has ended, but its result cannot be read: %w", r.name, err),
			remedy.Run("try again", request.Command(r.cluster)), remedy.Run("give it up", r.cluster.Kubectl("delete", "job", job.Name)))
	case cannotStart:
		return errors.Join(r.failure(request, stuck.Error(), stuck.cause), r.end(ctx, job))
	case gone:
		return exit.With(exit.Aborted, fmt.Errorf("job %s was deleted, by another command after its end or by somebody before; whether backup %s is intact is not known", job.Name, r.name))
	case errors.Is(err, exit.ErrInterrupted) && r.agreesToCancel(ctx, "\nThe verification goes on without this command. End it?"):
		if now := r.endedMeanwhile(ctx, job); now != nil {
			return r.follow(context.WithoutCancel(ctx), now, request)
		}
		return errors.Join(exit.With(exit.Aborted, fmt.Errorf("the verification of backup %s was ended", r.name)), r.end(ctx, job))
	}
	return remedy.For(exit.Ended(ctx, err), remedy.Run("the verification goes on; follow it", request.Command(r.cluster)))
}

// conclude records whether a backup is intact. BR's own word counts, because BR ends with success after a signal, and where
// it has found no file at all. The time is that of BR's end, because the Job may have ended days ago.
func (r *verification) conclude(ctx context.Context, v edge.View, request backup.Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	text, cause := r.flaw(v)
	at := v.Job.CreationTimestamp.Time
	if end := backup.EndOf(v.Pod, backup.ContainerBR); end != nil {
		at = end.FinishedAt.Time
	}
	var result, unrecorded error
	switch {
	case text == "":
		unrecorded = errors.Join(edge.RecordTime(ctx, r.dyn, &r.backup, backup.AnnotationVerified, at),
			edge.RecordTime(ctx, r.dyn, &r.backup, backup.AnnotationDamaged, time.Time{}))
		result = r.print(v, request, at)
	case cause.Breaks():
		unrecorded = errors.Join(edge.RecordTime(ctx, r.dyn, &r.backup, backup.AnnotationVerified, time.Time{}),
			edge.RecordTime(ctx, r.dyn, &r.backup, backup.AnnotationDrilled, time.Time{}),
			edge.RecordTime(ctx, r.dyn, &r.backup, backup.AnnotationDamaged, at))
		fallthrough
	default:
		result = r.failure(request, text, cause)
	}
	if unrecorded != nil {
		unrecorded = fmt.Errorf("the result is not recorded: %w", unrecorded)
	}
	return errors.Join(result, unrecorded, r.jobs.Delete(ctx, v.Job))
}

// flaw returns why a backup is not intact or not known to be, "" where it is.
func (r *verification) flaw(v edge.View) (string, backup.Cause) {
	_, succeeded := backup.Ended(v.Job)
	switch {
	case !succeeded:
		return backup.FailureOf(v.Pod, v.Log, v.Result)
	case !v.Log.Succeeded:
		return "BR has ended without saying that all files are intact", backup.Unexplained
	case v.Log.Files == 0 && r.backup.Status.BackupSize > 0:
		return "BR has found no file, and the backup has " + backup.Readable(r.backup.Status.BackupSize), backup.Unexplained
	}
	return "", backup.Unexplained
}

// failure returns the error of a backup that is not known to be intact.
func (r *verification) failure(request backup.Request, text string, cause backup.Cause) error {
	code := exit.Refused
	if cause == backup.Unexplained {
		code = exit.Failure
	}
	what := "is not known to be intact"
	broken := cause.Breaks()
	if broken {
		what = "is damaged"
	}
	actions := r.advice(request, text, cause)
	if broken {
		actions = append(actions, remedy.Say("make a new backup, and do not count on this one"))
	}
	return remedy.For(exit.With(code, fmt.Errorf("backup %s at %s %s: %s", r.name, request.Path(), what, backup.Spoken(text, r.values...))), actions...)
}

func (r *verification) print(v edge.View, request backup.Request, at time.Time) error {
	if r.output.JSON() {
		return output.Write(r.f.Streams.Out, map[string]any{
			"name": r.name, "namespace": r.backup.Namespace, "path": request.Path(), "files": v.Log.Files, "verified": at.UTC().Format(time.RFC3339),
		})
	}
	fmt.Fprintf(r.f.Streams.Out, "backup.pingcap.com/%s is intact as of %s: %s at %s\n",
		r.name, at.UTC().Format(time.RFC3339), remedy.Count(v.Log.Files, "file", "files"), request.Path())
	return nil
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
)

// follow follows a Job to its end, and concludes the restore.
func (r *restoration) follow(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	view, err := r.watch(ctx, job)
	stuck, cannotStart := errors.AsType[*stuckError](err)
	_, gone := errors.AsType[*edge.GoneError](err)
	switch {
	case err == nil, isUnread(err):
		return r.conclude(ctx, view, request, err)
	case cannotStart:
		return errors.Join(r.failure(request, stuck.Error(), stuck.cause, false), r.end(ctx, job))
	case gone:
		return r.afterDeletion(ctx, job, view, request)
	case errors.Is(err, exit.ErrInterrupted):
		return r.interrupted(ctx, job, request)
	}
	return remedy.For(exit.Ended(ctx, err), remedy.Run("the restore goes on; follow it", request.Command(r.cluster)))
}

// conclude says how a restore has ended, after PD has its settings of before again.
func (r *restoration) conclude(ctx context.Context, v edge.View, request backup.Request, unread error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	pod, err := r.jobs.Restoring(ctx, r.cluster.Instance, "")
	if err != nil {
		return remedy.For(err, remedy.Run("see how restore "+request.Name+" has ended", request.Command(r.cluster)))
	}
	if pod != nil {
		return remedy.For(fmt.Errorf("restore %s has failed, and BR may still run in its pod %s, so that PD's settings are not put back yet", request.Name, pod.Name),
			remedy.Run("put them back when the node of the pod is back, or the pod is deleted", request.Command(r.cluster)))
	}
	result := r.resultOf(ctx, v, request, unread)
	if err := r.putBack(ctx, request.Name); err != nil {
		if result == nil {
			err = fmt.Errorf("restore %s has succeeded, but: %w", request.Name, err)
		}
		return errors.Join(result, err) // the Job stays, so that the same command tries again
	}
	if _, succeeded := backup.Ended(v.Job); succeeded && unread != nil {
		return result // the Job stays, because only its log has the result
	}
	err = r.jobs.Delete(ctx, v.Job)
	if result != nil {
		return errors.Join(result, err)
	}
	return errors.Join(err, r.print(v, request))
}

// resultOf returns why a restore whose Job has ended has failed, nil where BR says that it has succeeded and the data is
// there.
func (r *restoration) resultOf(ctx context.Context, v edge.View, request backup.Request, unread error) error {
	_, succeeded := backup.Ended(v.Job)
	wrote := backup.HasRun(v.Pod, backup.ContainerBR)
	switch {
	case !succeeded:
		text, cause := backup.FailureOf(v.Pod, v.Log, v.Result)
		return r.failure(request, text, cause, wrote)
	case unread != nil:
		return remedy.For(fmt.Errorf("restore %s has ended, but its result cannot be read: %w", request.Name, unread),
			remedy.Run("try again", request.Command(r.cluster)), remedy.Run("give it up; what it has restored stays", r.cluster.Kubectl("delete", "job", v.Job.Name)))
	case !v.Log.Succeeded:
		return r.failure(request, "BR has ended without saying that it has succeeded", backup.Unexplained, wrote)
	}
	return r.readBack(ctx, request)
}

// readBack fails where the cluster has nothing of what was asked for. BR succeeds with a database that the backup does not
// have.
func (r *restoration) readBack(ctx context.Context, request backup.Request) error {
	found, err := r.holds(ctx, request.DB, request.Table)
	switch {
	case err != nil:
		return fmt.Errorf("BR has restored %s, and whether the cluster has it is not known: %w", request.Scope(), err)
	case found == "":
		what := request.Scope()
		if request.DB == "" {
			what = "any table"
		}
		return r.failure(request, "nothing was restored: the backup does not have "+what, backup.Empty, false)
	}
	return nil
}

// brokenError is why a restore has failed.
type brokenError struct {
	cause backup.Cause
	text  string
}

func (e *brokenError) Error() string { return e.text }

// failure returns the error of a restore that has failed, with what can be done. BR may have written something where it has
// run.
func (r *restoration) failure(request backup.Request, text string, cause backup.Cause, wrote bool) error {
	code := exit.Refused
	if cause == backup.Unexplained {
		code = exit.Failure
	}
	err := exit.With(code, fmt.Errorf("restore of %s from %s into %s has failed: %w",
		request.Scope(), request.Path(), target.Title(r.cluster), &brokenError{cause, backup.Spoken(text, r.values...)}))
	actions := r.advice(request, text, cause)
	if wrote {
		actions = append(actions, remedy.Run("see what is there of "+request.Scope()+", and drop that before you try again", r.showDatabases()))
	}
	return remedy.For(err, actions...)
}

func (r *restoration) showDatabases() remedy.Command {
	return r.cluster.Plugin("sql", "-e", "SHOW DATABASES")
}

// interrupted asks whether the restore is to be cancelled. Where nobody can be asked, it goes on.
func (r *restoration) interrupted(ctx context.Context, job *batchv1.Job, request backup.Request) error {
	if r.agreesToCancel(ctx, fmt.Sprintf("\nRestore %s goes on without this command. Cancel it, and leave what it has restored?", request.Name)) {
		if now := r.endedMeanwhile(ctx, job); now != nil {
			return r.follow(context.WithoutCancel(ctx), now, request)
		}
		if err := r.end(ctx, job); err != nil {
			return err
		}
		return exit.With(exit.Aborted, fmt.Errorf("restore %s into %s was cancelled; what it has restored stays there", request.Name, target.Title(r.cluster)))
	}
	fmt.Fprintf(r.f.Streams.ErrOut, "restore %s goes on; follow it: %s\n", request.Name, request.Command(r.cluster).Line(r.f.Context()))
	return exit.ErrInterrupted
}

// afterDeletion is for a Job that somebody has deleted, or another command after its end.
func (r *restoration) afterDeletion(ctx context.Context, job *batchv1.Job, v edge.View, request backup.Request) error {
	if err := r.afterJob(ctx, job); err != nil {
		return err
	}
	if v.Log.Succeeded {
		if err := r.readBack(ctx, request); err != nil {
			return err
		}
		return r.print(v, request)
	}
	return remedy.For(exit.With(exit.Aborted, fmt.Errorf("job %s was deleted, by another command after its end or by somebody before; whether %s has all of %s is not known",
		job.Name, target.Title(r.cluster), request.Scope())), remedy.Run("see what is there", r.showDatabases()))
}

// end deletes the Job of a restore, waits until BR has ended, and puts PD's settings back.
func (r *restoration) end(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	if err := r.jobs.Delete(ctx, job); err != nil {
		return fmt.Errorf("the restore goes on: %w", err)
	}
	return r.afterJob(ctx, job)
}

// afterJob waits until BR has ended, whose Job is deleted, and puts PD's settings back.
func (r *restoration) afterJob(ctx context.Context, job *batchv1.Job) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	fmt.Fprintf(r.f.Streams.ErrOut, "job %s is deleted; waiting until BR has ended\n", job.Name)
	if left, err := r.jobs.AwaitEnd(ctx, job); err != nil {
		name := ""
		if left != nil {
			name = left.Name
		}
		return remedy.For(fmt.Errorf("the Job of the restore is deleted, but its pod %s is not gone yet, so that PD's settings are not put back: %w", name, err),
			remedy.Run("see why", r.cluster.Kubectl("describe", "pod", name)), remedy.Run("put them back afterwards", r.cancellation()))
	}
	return r.putBack(ctx, backup.NameOf(job))
}

// cancelled ends the restore that runs. Without one it puts back what a restore has left in PD.
func (r *restoration) cancelled(ctx context.Context) error {
	r.asked.Does = backup.Restores
	job, err := r.jobs.Find(ctx, r.asked.JobName(r.cluster))
	if err != nil {
		return err
	}
	if job == nil {
		if err := r.refuseBeside(ctx, ""); err != nil {
			return fmt.Errorf("PD's settings are not put back: %w", err)
		}
		return r.putBackAlone(ctx)
	}
	asked, ours := backup.AskedOf(job)
	if !ours {
		return r.join(ctx, job)
	}
	if r.dryRun != flags.NoDryRun {
		fmt.Fprintf(r.f.Streams.Out, "restore %s would be cancelled, and PD's settings put back\n", backup.NameOf(job))
		return nil
	}
	r.hide(ctx, asked.Secret)
	if ended, _ := backup.Ended(job); ended {
		request, err := r.requestOf(job)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.f.Streams.ErrOut, "restore %s has ended, and is concluded\n", request.Name)
		return r.follow(ctx, job, request)
	}
	if err := r.end(ctx, job); err != nil {
		return err
	}
	fmt.Fprintf(r.f.Streams.Out, "restore %s is cancelled; what it has restored stays in %s\n", backup.NameOf(job), target.Title(r.cluster))
	return nil
}

// print prints a restore that has succeeded.
func (r *restoration) print(v edge.View, request backup.Request) error {
	result := map[string]any{
		"name": request.Name, "namespace": r.cluster.Namespace, "cluster": r.cluster.Name, "path": request.Path(), "scope": request.Scope(),
	}
	text := fmt.Sprintf("%s has %s", target.Title(r.cluster), request.Scope())
	if v.TS != 0 {
		at := backup.Log{TS: v.TS}.Time().Format(time.RFC3339)
		result["dataTime"], text = at, text+" as of "+at
	}
	text += ", from " + request.Path()
	if end := backup.EndOf(v.Pod, backup.ContainerBR); end != nil {
		took := end.FinishedAt.Sub(end.StartedAt.Time).String()
		result["taken"], text = took, text+", in "+took
	}
	if r.output.JSON() {
		return output.Write(r.f.Streams.Out, result)
	}
	fmt.Fprintln(r.f.Streams.Out, text)
	return nil
}

// settingsText lists what is put back in PD.
func settingsText(schedulers []string, numbers map[string]float64) string {
	all := slices.Clone(schedulers)
	for _, key := range slices.Sorted(maps.Keys(numbers)) {
		all = append(all, fmt.Sprintf("%s=%v", key, numbers[key]))
	}
	return strings.Join(all, ", ")
}

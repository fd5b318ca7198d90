package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	edge "github.com/kubectl-tidb/kubectl-tidb/pkg/edge/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/schedule"
)

func (o *scheduleOptions) run(ctx context.Context, f *factory.Factory) error {
	on, err := connect(ctx, f, o.cluster)
	if err != nil {
		return err
	}
	defer on.session.Close()
	client := schedule.Client{Dynamic: on.dyn, Kube: on.session.Kube, Namespace: on.cluster.Namespace}
	if o.remove {
		return errors.Join(o.delete(ctx, f, client, on.cluster), o.warnOfBackup(ctx, on))
	}
	image, err := ownpod.Image("--plugin-image", o.plugin, f.Version)
	if err != nil {
		return err
	}
	if err := o.refuse(ctx, on); err != nil {
		return err
	}
	return o.apply(ctx, f, client, wantedSchedule{scheduleOptions: *o, cluster: on.cluster, plugin: image})
}

// refuse refuses a schedule whose runs could not succeed.
func (o *scheduleOptions) refuse(ctx context.Context, on work) error {
	if err := on.refuse(ctx, on.request(o.asked, o.destination)); err != nil {
		return err
	}
	if of := on.cluster.JoinsNamespace(); of != "" {
		return remedy.For(exit.Refusef("%s has its PD in namespace %s, where the pods of a schedule have no rights; nothing was changed", target.Title(on.cluster), of),
			remedy.Say("make the schedule for the TidbCluster that has PD: a backup has the data of all parts"))
	}
	found, err := edge.Of(ctx, on.dyn, on.cluster.Namespace)
	if none, ok := errors.AsType[*edge.NoResourceError](err); ok {
		return undefined(none, "no result could be recorded; nothing was changed")
	}
	if err != nil {
		return err
	}
	return refuseOuter(o.destination, found.Items)
}

// apply makes the objects of a schedule, or changes the ones that exist.
func (o *scheduleOptions) apply(ctx context.Context, f *factory.Factory, client schedule.Client, wanted wantedSchedule) error {
	objects := wanted.objects()
	if o.manifest {
		text, err := output.Document(objects)
		if err != nil {
			return err
		}
		_, err = fmt.Fprint(f.Streams.Out, text)
		return err
	}
	name := o.objectName(wanted.cluster.Name)
	found, err := client.Find(ctx, wanted.cluster.Name, name)
	if err != nil {
		return foreignSchedule(err, wanted.cluster)
	}
	if err := o.refuseShared(ctx, client, wanted.cluster); err != nil {
		return err
	}
	for _, try := range o.passes() {
		for _, object := range objects {
			if try && object.GetObjectKind().GroupVersionKind().Kind == bindingKind && !isAmong(found, roleKind) {
				continue // Kubernetes lets most users bind only a Role that exists
			}
			if err := client.Apply(ctx, object, isAmong(found, object.GetObjectKind().GroupVersionKind().Kind), try); err != nil {
				return deniedSchedule(err, wanted.cluster, try)
			}
		}
	}
	done := "is made"
	switch {
	case o.dryRun != flags.NoDryRun && len(found) > 0:
		done = "would be changed"
	case o.dryRun != flags.NoDryRun:
		done = "would be made"
	case len(found) > 0:
		done = "is changed"
	}
	fmt.Fprintf(f.Streams.Out, "cronjob.batch/%s %s: it backs up %s to folders in %s and keeps %s; %s\n",
		name, done, target.Title(wanted.cluster), o.destination.Path(), o.whichKept(), o.whenNext(time.Now()))
	return nil
}

// refuseShared refuses a prefix that another schedule of the cluster has. Each of the two would count and delete the
// backups of the other one.
func (o *scheduleOptions) refuseShared(ctx context.Context, client schedule.Client, c topology.Cluster) error {
	all, err := client.List(ctx, c.Name)
	if err != nil {
		return deniedSchedule(err, c, true)
	}
	for i := range all {
		other, err := backup.ParseDestination(all[i].Annotations[annPrefix])
		if err == nil && all[i].Name != o.objectName(c.Name) && other.Path() == o.destination.Path() && other.Endpoint == o.destination.Endpoint {
			return remedy.For(exit.Refusef("schedule %s of %s has its backups in %s already; nothing was changed", all[i].Name, target.Title(c), other.Path()),
				remedy.Say("give each schedule a prefix of its own with --in"))
		}
	}
	return nil
}

// passes returns how the objects are sent to the API server: to be checked, and then to be made. Otherwise an object that
// is refused, such as a CronJob with an unknown time zone, would leave the rights of its pods behind.
func (o *scheduleOptions) passes() (try []bool) {
	switch o.dryRun {
	case flags.ClientDryRun:
		return nil
	case flags.ServerDryRun:
		return []bool{true}
	}
	return []bool{true, false}
}

// whenNext says when the next run begins.
func (o *scheduleOptions) whenNext(now time.Time) string {
	if o.suspend {
		return "no run begins, as it is suspended"
	}
	if at := nextRun(o.cron, o.zone, now); !at.IsZero() {
		return "the next run begins at " + at.UTC().Format(time.RFC3339)
	}
	return "the time zone is not known here, so the next run is not shown"
}

// nextRun returns when the next run of a schedule begins, zero where that is not known.
func nextRun(text, zone string, now time.Time) time.Time {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}
	}
	times, err := cron.ParseStandard(text)
	if err != nil {
		return time.Time{}
	}
	return times.Next(now.In(location))
}

// delete deletes the objects of a schedule.
func (o *scheduleOptions) delete(ctx context.Context, f *factory.Factory, client schedule.Client, c topology.Cluster) error {
	name := o.objectName(c.Name)
	found, err := client.Find(ctx, c.Name, name)
	switch {
	case err != nil:
		return foreignSchedule(err, c)
	case len(found) == 0:
		return remedy.For(exit.Usagef("%s has no schedule %s", target.Title(c), name),
			remedy.Run("see which schedules there are", remedy.Plugin(c.Namespace, "backup", "schedule", c.Name)))
	}
	for i := range found {
		if o.dryRun != flags.NoDryRun {
			fmt.Fprintf(f.Streams.Out, "%s %s would be deleted\n", strings.ToLower(found[i].GetKind()), name)
			continue
		}
		if err := client.Delete(ctx, &found[i]); err != nil {
			return deniedSchedule(err, c, i == 0)
		}
		fmt.Fprintf(f.Streams.Out, "%s %s is deleted\n", strings.ToLower(found[i].GetKind()), name)
	}
	return nil
}

// warnOfBackup says that a backup of a schedule is under way. The backup goes on without the schedule, and its result is
// recorded only when somebody follows the backup.
func (o *scheduleOptions) warnOfBackup(ctx context.Context, on work) error {
	job, err := on.jobs.Find(ctx, backup.Asked{}.JobName(on.cluster))
	if err != nil || job == nil || o.dryRun != flags.NoDryRun {
		return err
	}
	asked, _ := backup.AskedOf(job)
	if asked.Run == "" {
		return nil
	}
	fmt.Fprintf(on.f.Streams.ErrOut, "backup %s of a schedule is under way; follow it: %s; or give it up: %s\n", backup.NameOf(job),
		asked.Command(on.cluster).Line(on.f.Context()), on.cluster.Kubectl("delete", "job", job.Name).Line(on.f.Context()))
	return nil
}

// isAmong reports whether an object of a kind exists.
func isAmong(found []unstructured.Unstructured, kind string) bool {
	return slices.ContainsFunc(found, func(u unstructured.Unstructured) bool { return u.GetKind() == kind })
}

// foreignSchedule adds to an error what helps where an object of somebody else is in the way.
func foreignSchedule(err error, c topology.Cluster) error {
	if other, ok := errors.AsType[*schedule.ForeignError](err); ok {
		return remedy.For(exit.Refusef("%w; nothing was changed", other),
			remedy.Run("see what it is", c.Kubectl("describe", strings.ToLower(other.Kind), other.Name)),
			remedy.Say("give the schedule another name with --name"))
	}
	return deniedSchedule(err, c, true)
}

// deniedSchedule adds to an error what helps where the API server refuses an object, or rights are missing. Who grants
// rights needs to have them.
func deniedSchedule(err error, c topology.Cluster, unchanged bool) error {
	switch {
	case apierrors.IsInvalid(err) && unchanged:
		return exit.Usagef("%w; nothing was changed", err)
	case !apierrors.IsForbidden(err):
		return err
	}
	return remedy.For(err, remedy.Run("see which rights it needs, among them those that it grants to the pods", remedy.Plugin(c.Namespace, "auth", "role", "backup", "schedule")))
}

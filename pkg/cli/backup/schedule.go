package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/schedule"
)

// scheduleOptions are the flags and the arguments of "backup schedule".
type scheduleOptions struct {
	cluster     []string
	cron        string
	name, zone  string
	asked       backup.Asked
	checks      bool
	keep        backup.Retention
	within      time.Duration
	startWithin time.Duration
	suspend     bool
	remove      bool
	plugin      string
	rclone      string
	dryRun      flags.DryRun
	manifest    bool

	destination backup.Destination
}

func newSchedule(f *factory.Factory) *cobra.Command {
	var o scheduleOptions
	shown := output.Objects{About: batchv1.SchemeGroupVersion.WithKind("CronJob")}
	cmd := &cobra.Command{
		Use:   "schedule NAME [CRON --in URL]",
		Short: "Have backups made again and again, and old ones deleted",
		Long: `Have Kubernetes back up a cluster at the times of CRON, such as '0 3 * * *' for each day at
three, each time to a new folder of the prefix of --in. A CronJob runs this plugin, with
"backup create" and, with --keep-last or --keep-within, then "backup prune --files". No
other controller is needed. Without CRON, the schedules of the cluster are shown.

The CronJob, its ServiceAccount, a Role with the rights of these two verbs, and a RoleBinding
are called NAME-backup; --name gives a second schedule another name. They are deleted with
the cluster. The same command changes a schedule, and --remove deletes it. The backups stay.

A run begins when the one before has ended, and is left out when it cannot begin within
--start-within. A run that fails is tried again for ten minutes, as when another backup of
the cluster is under way. A run that takes longer than --deadline is ended. Old backups are
deleted only after a backup that is complete.`,
		Example: `  # Each day at three, for two weeks
  kubectl tidb backup schedule basic '0 3 * * *' --in s3://backups/basic \
    --from-secret s3-access --keep-last 14

  # Which schedules are there, and did they succeed?
  kubectl tidb backup schedule basic

  # Now, besides the schedule
  kubectl create job --from=cronjob/basic-backup basic-backup-now

  # For a repository with manifests
  kubectl tidb backup schedule basic '@weekly' --in s3://backups/basic-weekly \
    --name weekly --from-secret s3-access --manifest`,
		SuggestFor:        []string{"cron", "cronjob", "schedules", "plan"},
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := shown.Validate(); err != nil {
				return err
			}
			o.cluster = args[:1]
			switch asked := askedFor(cmd); {
			case len(args) == 2 || o.remove:
			case asked != "":
				return exit.Usagef("--%s is for a schedule that is made or changed: give CRON as well, such as '0 3 * * *'", asked)
			default:
				return o.show(cmd.Context(), f, &shown)
			}
			if len(args) == 2 {
				o.cron = args[1]
			}
			if cmd.Flags().Changed("checksum") {
				o.asked.Checksum = &o.checks
			}
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	o.bind(cmd, f)
	shown.Bind(cmd)
	return cmd
}

// askedFor returns a flag that is given and is of no use without CRON, "" for none.
func askedFor(cmd *cobra.Command) (flag string) {
	var o scheduleOptions
	own := &cobra.Command{}
	o.bind(own, nil)
	cmd.Flags().Visit(func(given *pflag.Flag) {
		if flag == "" && own.Flags().Lookup(given.Name) != nil {
			flag = given.Name
		}
	})
	return flag
}

func (o *scheduleOptions) bind(cmd *cobra.Command, f *factory.Factory) {
	set := cmd.Flags()
	bindIn(cmd, &o.asked.In, "Prefix in which each backup gets a new folder: s3://BUCKET/PREFIX, with parameters.")
	set.StringVar(&o.name, "name", "backup", "Name of the schedule, where the cluster has several.")
	set.StringVar(&o.zone, "time-zone", "Etc/UTC", "Time zone of CRON, e.g. Europe/Berlin.")
	bindRetention(cmd, &o.keep)
	set.DurationVar(&o.within, "deadline", 24*time.Hour, "End a run that takes longer than this.")
	set.DurationVar(&o.startWithin, "start-within", time.Hour, "Leave out a run that cannot begin within this time.")
	set.BoolVar(&o.suspend, "suspend", false, "Begin no run until the same command without this flag.")
	set.BoolVar(&o.remove, "remove", false, "Delete the schedule. Its backups stay.")
	bindEffort(cmd, &o.asked, &o.checks)
	bindAccess(cmd, f, &o.asked)
	set.StringVar(&o.rclone, "rclone-image", "", "Image of rclone, which deletes old backups. Without it, that is "+backup.FilesImage+".")
	set.StringVar(&o.plugin, "plugin-image", "", "Image of this plugin. Without it, that of this release.")
	set.BoolVar(&o.manifest, "manifest", false, "Print the objects as YAML, and change nothing.")
	o.dryRun.Bind(cmd)
	for _, name := range []string{"name", "time-zone", "deadline", "start-within", "rclone-image", "plugin-image"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// longestCronJob is how long the name of a CronJob may be: Kubernetes adds the time for the name of a Job.
const longestCronJob = 52

func (o *scheduleOptions) objectName(cluster string) string { return cluster + "-" + o.name }

// validate checks what is known from the flags alone.
func (o *scheduleOptions) validate() error {
	name := o.objectName(o.cluster[0])
	switch {
	case o.remove && o.cron != "":
		return exit.Usagef("--remove goes without CRON")
	case len(validation.IsDNS1123Label(o.name)) > 0:
		return exit.Usagef("--name %q is no name for objects: lower-case letters, digits and -", o.name)
	case o.remove:
		return nil
	case len(name) > longestCronJob:
		return exit.Usagef("%s is too long a name for a CronJob, which has at most %d characters: give a shorter --name", name, longestCronJob)
	case o.asked.In == "":
		return exit.Usagef("say where the backups are to be, with --in")
	case o.keep.Last < 0 || o.keep.Within < 0:
		return exit.Usagef("--keep-last and --keep-within must not be negative")
	case o.within < time.Second || o.startWithin < 10*time.Second:
		return exit.Usagef("--deadline has to be at least 1s, and --start-within at least 10s")
	}
	if err := ownpod.CheckImage("--plugin-image", o.plugin); err != nil {
		return err
	}
	var err error
	if o.destination, err = parseURL("--in", o.asked.In); err != nil {
		return err
	}
	o.asked.In = o.destination.URL()
	return checkCron(o.cron)
}

// checkCron refuses a schedule that Kubernetes does not take, or that never comes, such as 30 February.
func checkCron(text string) error {
	if strings.Contains(text, "TZ") {
		return exit.Usagef("CRON %q has a time zone: give it with --time-zone", text)
	}
	times, err := cron.ParseStandard(text)
	if err != nil {
		return exit.Usagef("CRON %q is no schedule of minute, hour, day, month and day of the week, such as '0 3 * * *': %w", text, err)
	}
	if times.Next(time.Now()).IsZero() {
		return exit.Usagef("CRON %q never comes", text)
	}
	return nil
}

func (o *scheduleOptions) run(ctx context.Context, f *factory.Factory) error {
	on, err := connect(ctx, f, o.cluster)
	if err != nil {
		return err
	}
	defer on.session.Close()
	client := schedule.Client{Dynamic: on.dyn, Kube: on.session.Kube, Namespace: on.cluster.Namespace}
	if o.remove {
		return o.delete(ctx, f, client, on.cluster)
	}
	image, err := ownpod.Image("--plugin-image", o.plugin, f.Version)
	if err != nil {
		return err
	}
	if err := on.refuse(ctx, on.request(o.asked, o.destination)); err != nil {
		return err
	}
	return o.apply(ctx, f, client, wantedSchedule{scheduleOptions: *o, cluster: on.cluster, plugin: image})
}

// apply makes the objects of a schedule, or changes those that are there.
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
	if err := o.sharesPrefix(ctx, client, wanted.cluster); err != nil {
		return err
	}
	for _, try := range o.passes() {
		for _, object := range objects {
			if err := client.Apply(ctx, object, try); err != nil {
				return deniedSchedule(err, wanted.cluster)
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

// sharesPrefix refuses a prefix that another schedule of the cluster has. Each of the two would count and delete the
// backups of the other one.
func (o *scheduleOptions) sharesPrefix(ctx context.Context, client schedule.Client, c topology.Cluster) error {
	all, err := client.List(ctx, c.Name)
	if err != nil {
		return deniedSchedule(err, c)
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
			return deniedSchedule(err, c)
		}
		fmt.Fprintf(f.Streams.Out, "%s %s is deleted\n", strings.ToLower(found[i].GetKind()), name)
	}
	return nil
}

// foreignSchedule adds to an error what helps where an object of somebody else is in the way.
func foreignSchedule(err error, c topology.Cluster) error {
	if other, ok := errors.AsType[*schedule.ForeignError](err); ok {
		return remedy.For(exit.Refusef("%w; nothing was changed", other),
			remedy.Run("see what it is", c.Kubectl("describe", strings.ToLower(other.Kind), other.Name)),
			remedy.Say("give the schedule another name with --name"))
	}
	return deniedSchedule(err, c)
}

// deniedSchedule adds to an error what helps where the API server refuses an object, or rights are missing. Who grants
// rights needs to have them.
func deniedSchedule(err error, c topology.Cluster) error {
	switch {
	case apierrors.IsInvalid(err):
		return exit.Usagef("%w; nothing was changed", err)
	case !apierrors.IsForbidden(err):
		return err
	}
	return remedy.For(err, remedy.Run("see which rights it needs, among them those that it grants to the pods", remedy.Plugin(c.Namespace, "auth", "role", "backup", "schedule")))
}

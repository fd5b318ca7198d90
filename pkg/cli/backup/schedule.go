package backup

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/ownpod"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
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
		Short: "Back up a cluster at certain times, and delete old backups",
		Long: `Have Kubernetes back up a cluster at the times of CRON, such as '0 3 * * *' for each day at
three, each time to a new folder of the prefix of --in. A CronJob runs this plugin, with
"backup create" and, with --keep-last or --keep-within, then "backup prune --files". No
other controller is needed. Without CRON, the schedules of the cluster are shown.

The CronJob, its ServiceAccount, a Role with the rights of these two verbs, and a RoleBinding
are called NAME-backup; --name gives a second schedule another name. They are deleted with
the cluster. The same command changes a schedule, and --remove deletes it. The backups stay.

A run begins when the one before has ended, and is left out when it cannot begin within
--start-within. For ten minutes a run tries to begin, as while another backup of the cluster
is under way. A backup that takes longer than --deadline is ended. When BR has failed, the
run has failed as well. Old backups are deleted only after a backup that is complete.`,
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
			if o.cluster = args[:1]; len(args) == 2 {
				o.cron = args[1]
			}
			if len(args) == 1 && !o.remove {
				if given := givenWithoutTimes(cmd); given != "" {
					return exit.Usagef("--%s is for a schedule that is made or changed: give CRON as well, such as '0 3 * * *'", given)
				}
				return o.show(cmd.Context(), f, &shown)
			}
			if err := o.validate(cmd.Flags().Changed("checksum")); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	o.bind(cmd, f)
	shown.Bind(cmd)
	return cmd
}

// givenWithoutTimes returns a flag that is given and is of no use without CRON, "" for none.
func givenWithoutTimes(cmd *cobra.Command) (flag string) {
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
func (o *scheduleOptions) validate(checksum bool) error {
	if checksum {
		o.asked.Checksum = &o.checks
	}
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
	if o.destination, err = parseIn(o.asked.In); err != nil {
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
	if _, is := times.(cron.ConstantDelaySchedule); is {
		return exit.Usagef("CRON %q has no times: Kubernetes would begin at another time after each of its restarts; give times, such as '0 3 * * *'", text)
	}
	if times.Next(time.Now()).IsZero() {
		return exit.Usagef("CRON %q never comes", text)
	}
	return nil
}

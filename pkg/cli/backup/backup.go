// Package backup is the verb that saves the data of a cluster in a bucket.
package backup

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// New makes the command. "backup NAME" is "backup create NAME".
func New(f *factory.Factory) *cobra.Command {
	save := func(ctx context.Context, o options) error { return o.run(ctx, f) }
	cmd := creation(f, save)
	cmd.Use = "backup NAME --to URL | --in URL"
	cmd.Short = "Save the data of a cluster in a bucket, show and delete backups"
	cmd.SuggestFor = []string{"dump", "save", "snapshot", "br"}
	cmd.AddCommand(creation(f, save), newList(f), newShow(f), newVerify(f), newDrill(f), newDelete(f), newPrune(f), newSchedule(f), newLog(f))
	return cmd
}

// options are the flags and the argument of "backup create".
type options struct {
	name    []string
	asked   backup.Asked
	table   string
	checks  bool
	within  time.Duration
	dryRun  flags.DryRun
	timeout time.Duration
	output  output.Format

	destination backup.Destination
}

func creation(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "create NAME --to URL | --in URL",
		Short: "Save the data of a cluster in a bucket",
		Long: `Save the data of a cluster, of one database or of one table in a bucket, as of one moment,
while clients go on. A Job with BR of the cluster's version does it, and the stores write
to the bucket themselves. What was written is read back. Then a Backup of tidb-operator
says that it is complete, which "kubectl get backup" and
"upgrade --require-backup-newer-than" read.

URL is s3://BUCKET/PREFIX with these parameters, where they are needed: endpoint, region,
provider, force-path-style, storage-class, sse and acl. The prefix of --to has to be a new
one; with --in, the backup gets a new folder of the prefix, named by the time. The Secret of
--from-secret has the keys access_key and secret_key. Without it the pods have to have
an identity that may write to the bucket, by --service-account.

With --run, a pipeline or a Job can try again after a kill without a second backup: the first
one of the run is followed, or counts when it is complete. When BR has failed, the command
ends with 7.

Ctrl-C asks whether the backup is to be cancelled. If not, it goes on without this command,
as it does after a kill, and the same command follows it again. There is one backup of a
cluster at a time. While it runs, a service safepoint in PD keeps its data from garbage
collection; it is deleted when BR has ended. What a backup that has failed or was
cancelled has written stays in the bucket.`,
		Example: `  kubectl tidb backup basic --to s3://backups/basic/monday --from-secret s3-access

  # In a bucket that is not of AWS, at most 64 MiB a second from each store
  kubectl tidb backup basic --to 's3://backups/basic/1?endpoint=http://minio.s3:9000' \
    --from-secret s3-access --rate-limit 64

  # In a pipeline that may try twice
  kubectl tidb backup basic --in s3://backups/basic --run build-4711 \
    --from-secret s3-access

  # One table; what would be done
  kubectl tidb backup create basic --to s3://backups/users/1 --table app.users \
    --from-secret s3-access --dry-run`,
		SuggestFor:        []string{"make", "new"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if cmd.Flags().Changed("run") && o.asked.Run == "" {
				return exit.Usagef("--run is empty")
			}
			if cmd.Flags().Changed("checksum") {
				o.asked.Checksum = &o.checks
			}
			if err := o.validate(); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	bindAccess(cmd, f, &o.asked)
	return cmd
}

// bindAccess makes the flags of what the pod of BR needs.
func bindAccess(cmd *cobra.Command, f *factory.Factory, asked *backup.Asked) {
	bindCredentials(cmd, f, asked)
	cmd.Flags().StringVar(&asked.Image, "image", "", "Image of BR. Without it, that is pingcap/br of the cluster's version.")
}

// bindCredentials makes the flags by which a pod may use the bucket.
func bindCredentials(cmd *cobra.Command, f *factory.Factory, asked *backup.Asked) {
	set := cmd.Flags()
	set.StringVar(&asked.Secret, "from-secret", "", "Secret with the credentials for the bucket, in the namespace of the cluster.")
	set.StringVar(&asked.Account, "service-account", "", "ServiceAccount of the pod, where it gives an identity to the bucket's cloud.")
	_ = cmd.RegisterFlagCompletionFunc("from-secret", target.CompleteResource(f, "secrets"))
	_ = cmd.RegisterFlagCompletionFunc("service-account", target.CompleteResource(f, "serviceaccounts"))
}

func (o *options) bind(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&o.asked.URL, "to", "", "Where to write: s3://BUCKET/PREFIX, with parameters.")
	bindIn(cmd, &o.asked.In, "Prefix in which to write to a new folder: s3://BUCKET/PREFIX, with parameters.")
	set.StringVar(&o.asked.Run, "run", "", "Name of this run, with --in: a second attempt makes no second backup.")
	set.StringVar(&o.asked.DB, "db", "", "Save only this database.")
	set.StringVar(&o.table, "table", "", "Save only this table, as DATABASE.TABLE.")
	bindEffort(cmd, &o.asked, &o.checks)
	set.DurationVar(&o.within, "deadline", 0, "End the backup when it takes longer than this, e.g. 12h. Zero is no limit.")
	o.dryRun.Bind(cmd)
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop following after this long, e.g. 30m; the backup goes on. Zero follows to the end.")
	o.output.Bind(cmd, "With json, the result as one object on stdout.")
	_ = cmd.RegisterFlagCompletionFunc("to", completeURL)
	for _, name := range []string{"run", "deadline"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

var completeURL = cobra.FixedCompletions([]string{"s3://"}, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)

// bindIn makes the flag --in.
func bindIn(cmd *cobra.Command, in *string, usage string) {
	cmd.Flags().StringVar(in, "in", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("in", completeURL)
}

// bindEffort makes the flags of how fast BR writes, and what BR compares.
func bindEffort(cmd *cobra.Command, asked *backup.Asked, checks *bool) {
	set := cmd.Flags()
	set.UintVar(&asked.RateLimit, "rate-limit", 0, "How many MiB a second each store may write. Zero is no limit.")
	set.BoolVar(checks, "checksum", false, "Compare what was written with the tables. Without this flag BR decides by its release.")
}

func (o *options) validate() error {
	switch {
	case o.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	case (o.asked.URL == "") == (o.asked.In == ""):
		return exit.Usagef("say where the backup is to be, with --to for a new prefix or --in for a new folder of a prefix")
	case o.within < 0:
		return exit.Usagef("--deadline must not be negative")
	case o.within > 0 && o.within < time.Second:
		return exit.Usagef("--deadline is %s, and has to be at least a second", o.within)
	case o.asked.Run != "" && o.asked.In == "":
		return exit.Usagef("--run goes with --in only")
	case o.asked.Run != "" && !backup.IsRunName(o.asked.Run):
		return exit.Usagef("--run %q is no name for a run: letters, digits and . _ -, at most 128", o.asked.Run)
	}
	o.asked.Deadline = int64(o.within / time.Second)
	if err := scope(&o.asked, o.table); err != nil {
		return err
	}
	if o.asked.In != "" {
		return o.parsePrefix()
	}
	var err error
	if o.destination, err = parseURL("--to", o.asked.URL); err != nil {
		return err
	}
	o.asked.URL = o.destination.URL()
	return nil
}

func (o *options) parsePrefix() (err error) {
	if o.destination, err = parseIn(o.asked.In); err != nil {
		return err
	}
	o.asked.In = o.destination.URL()
	return nil
}

// parseIn reads the prefix that --in gives. Backups in empty folders, or with dots, could not be deleted.
func parseIn(text string) (backup.Destination, error) {
	d, err := parseURL("--in", text)
	if err == nil && "/"+d.Prefix != path.Clean("/"+d.Prefix) {
		return d, exit.Usagef("--in: %s has empty folders or dots", d.Path())
	}
	return d, err
}

// parseURL reads the URL that a flag gives.
func parseURL(flag, text string) (backup.Destination, error) {
	d, err := backup.ParseDestination(text)
	if bad, ok := errors.AsType[*backup.DestinationError](err); ok {
		return d, exit.Usagef("%s: %w", flag, bad)
	}
	return d, err
}

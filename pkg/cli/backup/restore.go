package backup

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// restoreOptions are the flags and the argument of "restore".
type restoreOptions struct {
	name    []string
	from    string
	asked   backup.Asked
	table   string
	checks  bool
	cancel  bool
	dryRun  flags.DryRun
	timeout time.Duration
	output  output.Format

	url backup.Destination // of --from, where that is a URL
}

// NewRestore makes the command that restores a backup.
func NewRestore(f *factory.Factory) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:   "restore NAME --from BACKUP|URL",
		Short: "Restore a backup into a cluster",
		Long: `Restore a backup, or one database or table of it, into a cluster that runs. A Job with BR
of the cluster's version does it. What is to be restored must not be in the cluster yet:
for a whole backup, no database may have a table. So no table is overwritten. Accounts and
privileges are: BR of v7.6 and later restores them with a whole backup.

BACKUP is a Backup of the cluster's namespace, which says where the data is and which
Secret has the credentials. URL is s3://BUCKET/PREFIX, with parameters as "backup" has
them.

While BR restores, PD does not balance the stores. BR changes settings of PD for that, and
a BR that is killed leaves them so. So they are recorded in the TidbCluster before, and put
back at the end, also after a failure. Ctrl-C asks whether the restore is to be cancelled.
If not, it goes on without this command, as it does after a kill, and the same command
follows it again. --cancel ends a restore, and puts the settings back.

BR's exit code is no proof. The restore has succeeded when BR says so, and the cluster has a
table of what was asked for. BR compares the checksums of the tables, where the backup has
some.`,
		Example: `  kubectl tidb restore basic --from basic-20260310-020000

  # Only one table, from a bucket that no Backup of this namespace names
  kubectl tidb restore basic --from s3://backups/basic/monday --from-secret s3-access \
    --table app.users

  # End a restore that runs, or put PD's settings back after one that was killed
  kubectl tidb restore basic --cancel`,
		SuggestFor:        []string{"recover", "import", "load"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if cmd.Flags().Changed("checksum") {
				o.asked.Checksum = &o.checks
			}
			if err := o.validate(); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	o.bind(cmd)
	_ = cmd.RegisterFlagCompletionFunc("from", target.CompleteResource(f, "backups.pingcap.com"))
	bindAccess(cmd, f, &o.asked)
	return cmd
}

func (o *restoreOptions) bind(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&o.from, "from", "", "What to restore: a Backup, or s3://BUCKET/PREFIX with parameters.")
	set.StringVar(&o.asked.DB, "db", "", "Restore only this database.")
	set.StringVar(&o.table, "table", "", "Restore only this table, as DATABASE.TABLE.")
	set.UintVar(&o.asked.RateLimit, "rate-limit", 0, "How many MiB a second each store may read. Zero is no limit.")
	set.BoolVar(&o.checks, "checksum", true, "Compare the checksums of the tables with those of the backup.")
	set.BoolVar(&o.cancel, "cancel", false, "End a restore that runs, and put PD's settings back.")
	o.dryRun.Bind(cmd)
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop following after this long, e.g. 30m; the restore goes on. Zero follows to the end.")
	o.output.Bind(cmd, "With json, the result as one object on stdout.")
}

// isURL reports whether --from is a URL. A Backup has no colon in its name.
func (o *restoreOptions) isURL() bool {
	return strings.Contains(o.from, ":") || strings.Contains(o.from, "/")
}

func (o *restoreOptions) validate() error {
	var err error
	switch {
	case o.cancel && o.from != "":
		return exit.Usagef("--cancel does not go with --from: it ends the restore that runs, whatever that is")
	case !o.cancel && o.from == "":
		return exit.Usagef("say what to restore with --from: a Backup, or s3://BUCKET/PREFIX")
	case o.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	}
	if err := scope(&o.asked, o.table); err != nil {
		return err
	}
	o.asked.Does = backup.Restores
	if !o.isURL() {
		o.asked.Backup = o.from
		return nil
	}
	if o.url, err = backup.ParseDestination(o.from); err != nil {
		return exit.Usagef("--from: %w", err)
	}
	o.asked.URL = o.url.URL()
	return nil
}

func (o restoreOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	on, err := connect(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer on.session.Close()
	r := newRestoration(o, on)
	if o.cancel {
		return r.cancelled(ctx)
	}
	return r.make(ctx)
}

func newRestoration(o restoreOptions, on work) *restoration {
	r := &restoration{restoreOptions: o, work: on, tidbcluster: on.session.Intent}
	r.holds, r.changes = r.observeHolds, r.observeChanges
	return r
}

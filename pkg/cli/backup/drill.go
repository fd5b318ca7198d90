package backup

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/sql"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// drillOptions are the flags and the argument of "backup drill".
type drillOptions struct {
	name    []string
	from    string // the name of the Backup, "" for the newest
	asked   backup.Asked
	access  sql.Access
	cancel  bool
	keep    bool
	dryRun  flags.DryRun
	timeout time.Duration
	output  output.Format
}

func newDrill(f *factory.Factory) *cobra.Command {
	var o drillOptions
	cmd := &cobra.Command{
		Use:   "drill NAME",
		Short: "Restore a backup beside its cluster, and compare all rows",
		Long: `Restore a backup of a cluster into another cluster, and compare all rows with those that the
cluster had at the time of the backup. So it is known that the backup can be restored, and
that nothing is missing. The newest Backup of the whole cluster is taken, or that of --backup.

The other cluster has the name NAME-drill and the configuration of NAME, with one PD member,
one TiDB server, and as many stores as one copy of the data needs. The command makes that
cluster, and deletes it with its data at the end. The Backup gets the time of the drill.

The rows of each table are counted and summed, in both clusters, by statements of low
priority. The tables of NAME are read as of the time of the backup, so TiDB must not have
deleted earlier data yet (tidb_gc_life_time): drill a backup soon after it was made. Views,
sequences and accounts are not compared.

Ctrl-C leaves the other cluster as it is. --cancel ends a drill that was left, and deletes
that cluster.`,
		Example: `  kubectl tidb backup basic --to s3://backups/basic/monday --from-secret s3-access &&
    kubectl tidb backup drill basic

  # What would be made
  kubectl tidb backup drill basic --dry-run

  # Delete the cluster of a drill that was interrupted
  kubectl tidb backup drill basic --cancel`,
		SuggestFor:        []string{"test-restore", "rehearse", "prove"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := o.validate(f); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	set := cmd.Flags()
	set.StringVar(&o.from, "backup", "", "The Backup. Without it, the newest one of the whole cluster.")
	set.BoolVar(&o.keep, "keep", false, "Do not delete the other cluster at the end.")
	set.BoolVar(&o.cancel, "cancel", false, "End a drill that was left: delete the other cluster with its data.")
	o.access.Bind(cmd)
	bindAccess(cmd, f, &o.asked)
	o.dryRun.Bind(cmd)
	flags.BindTimeout(cmd, &o.timeout, 0, "Stop after this long, e.g. 2h, and leave the other cluster. Zero waits for ever.")
	o.output.Bind(cmd, "With json, the result as one object on stdout.")
	_ = cmd.RegisterFlagCompletionFunc("backup", target.CompleteResource(f, "backups.pingcap.com"))
	return cmd
}

func (o *drillOptions) validate(f *factory.Factory) error {
	switch {
	case o.timeout < 0:
		return exit.Usagef("--timeout must not be negative")
	case o.cancel && (o.from != "" || o.keep):
		return exit.Usagef("--cancel does not go with --backup and --keep: it deletes the other cluster, whatever was restored")
	}
	return o.access.Validate(f)
}

func (o drillOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	on, err := connect(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer on.session.Close()
	d := &drill{drillOptions: o, work: on}
	if d.tc, err = on.session.Load(ctx); err != nil {
		return err
	}
	if o.cancel {
		return d.cancelled(ctx)
	}
	return d.make(ctx)
}

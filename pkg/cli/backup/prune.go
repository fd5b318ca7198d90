package backup

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/backup"
)

// pruneOptions are the flags and the argument of "backup prune".
type pruneOptions struct {
	deleteOptions
	name []string
	in   string
	keep backup.Retention
}

func newPrune(f *factory.Factory) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:   "prune NAME --keep-last N | --keep-within DURATION",
		Short: "Delete old backups of a cluster",
		Long: `Delete the backups of a cluster that are not kept any more, the oldest first, as "backup
delete" does. --keep-last keeps the newest ones, and --keep-within those whose data is at
most so old. With both flags, a backup is kept when either of them keeps it.

Only complete backups of the whole cluster count, so that a newer one that has failed or is
damaged replaces no older one. However old they are, these are kept: the newest one, the
newest one that was drilled or verified, and one that an incremental backup needs. Backups of
databases and tables, and those of a BackupSchedule of tidb-operator, are left. A restore to
a time of a log backup needs an older one of these: keep as many as the log goes back.

With --in, only the backups in folders of a prefix count and are deleted, such as those of one
schedule.

A deletion that was begun goes on. A backup whose files cannot be deleted is named and left,
and the command ends with 3 when the others are deleted.`,
		Example: `  # What would be deleted
  kubectl tidb backup prune basic --keep-last 14 --files --dry-run

  # In a pipeline: those older than a week, with their files
  kubectl tidb backup prune basic --keep-within 168h --files --yes`,
		SuggestFor:        []string{"expire", "retain", "gc"},
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			switch {
			case o.keep.Last < 0 || o.keep.Within < 0:
				return exit.Usagef("--keep-last and --keep-within must not be negative")
			case o.keep.Last == 0 && o.keep.Within == 0:
				return exit.Usagef("say which backups are kept, with --keep-last or --keep-within")
			}
			if o.in != "" {
				in, err := parseIn(o.in)
				if err != nil {
					return err
				}
				o.keep.In = &in
			}
			if err := o.validate(cmd); err != nil {
				return err
			}
			return o.run(cmd.Context(), f)
		},
	}
	bindRetention(cmd, &o.keep)
	bindIn(cmd, &o.in, "Only backups in folders of this prefix: s3://BUCKET/PREFIX, with the endpoint of the backups.")
	o.bind(cmd, f)
	return cmd
}

// bindRetention makes the flags of which backups are kept.
func bindRetention(cmd *cobra.Command, keep *backup.Retention) {
	set := cmd.Flags()
	set.IntVar(&keep.Last, "keep-last", 0, "Keep so many of the newest backups.")
	set.DurationVar(&keep.Within, "keep-within", 0, "Keep backups whose data is at most so old, e.g. 168h.")
	for _, name := range []string{"keep-last", "keep-within"} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

func (o pruneOptions) run(ctx context.Context, f *factory.Factory) error {
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	s, tc, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	now := s.Now()
	s.Close()
	namespace, found, err := read(ctx, f)
	if err != nil {
		return err
	}
	for _, u := range found.Unread {
		fmt.Fprintf(f.Streams.ErrOut, "warning: %s\n", u)
	}
	if o.names = o.keep.Expired(tc, found.Items, now); len(o.names) == 0 {
		fmt.Fprintf(f.Streams.ErrOut, "no backup of cluster %s/%s is too old\n", namespace, tc.Name)
		return nil
	}
	d := &deletion{deleteOptions: o.deleteOptions, work: work{f: f}, goesOn: true}
	return d.begin(ctx, namespace, found)
}

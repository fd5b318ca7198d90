// Package upgrade is the verb that takes a cluster to another version.
package upgrade

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	name    []string // the argument that names the cluster
	version string
	tiproxy string        // its version, which is not the cluster's
	backup  time.Duration // how old the data of the newest backup may be; 0: none is required
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "upgrade NAME VERSION",
		Short: "Take a cluster to another version",
		Long: `Take a cluster to another version, one member at a time: PD first, then TiProxy,
TiFlash, TiKV and TiDB. PD's leader moves away from a member before it restarts, and
region leaders from a store. Nothing is restarted while a peer is down. Stores whose
disks are nearly full are named before.

A lower version is refused: data may be in a format that it cannot read. Only an
upgrade whose new version has not run anywhere yet, since its image does not exist or
its pods find no node, can be taken back to the version that it came from.

With --canary it restarts only some members of one component, and stops: "promote" goes
on, and "abort" takes the upgrade back where that is possible.

With --require-backup-newer-than it does not begin without a Backup of tidb-operator that
is complete, has the whole cluster, and data that is new enough: its commitTs counts,
since a backup that takes hours has the data of its begin. A log backup does not count,
nor one by Dumpling, which names no cluster. An upgrade that has begun goes on.

Releases of TiProxy have numbers of their own: it keeps its version unless
--tiproxy-version has another one.

VERSION is a release written in full, such as v8.1.1 or v8.1.1-custom, or nightly or
latest. A cluster whose version is none of these has images with tags of its own, and
takes any tag.`,
		Example: `  kubectl tidb upgrade basic v8.1.1

  # See what it would take
  kubectl tidb upgrade basic v8.1.1 --dry-run

  # One store first; watch it, and go on with "promote"
  kubectl tidb upgrade basic v8.1.1 --canary tikv=1

  # Only with a full backup of the last 24 hours
  kubectl tidb upgrade basic v8.1.1 --require-backup-newer-than 24h

  # In a pipeline: give up waiting before the job is killed
  kubectl tidb upgrade basic v8.1.1 --timeout 50m

  # In a pipeline, a cluster with one member of PD: without a question
  kubectl tidb upgrade basic v8.1.1 --yes`,
		SuggestFor:        []string{"update", "patch"},
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if cmd.Flags().Changed(requireBackup) && o.backup <= 0 {
				return exit.Usagef("--%s has to be more than zero, such as 24h", requireBackup)
			}
			o.name, o.version = args[:1], args[1]
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	return cmd
}

func (o *options) bind(cmd *cobra.Command) {
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindCanary(cmd)
	cmd.Flags().StringVar(&o.tiproxy, "tiproxy-version", "", "Version that TiProxy is taken to, e.g. v1.3.0; the one that it has without this flag.")
	cmd.Flags().DurationVar(&o.backup, requireBackup, 0, "Refuse to begin unless a complete full backup, as a Backup of tidb-operator, has data that is newer than this, e.g. 24h.")
	o.BindForce(cmd, "the new version")
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	own := map[topology.Kind]string{}
	if o.tiproxy != "" {
		if err := target.CheckVersion(o.tiproxy, ""); err != nil {
			return exit.Usagef("--tiproxy-version: %w", err)
		}
		own[topology.TiProxy] = o.tiproxy
	}
	change, err := s.Intent.SetVersion(now, o.version, own)
	if err != nil {
		return err
	}
	refusal := Refusal(change)
	if refusal == nil {
		refusal = o.whyNotBackedUp(ctx, f, change)
	}
	return drive.Run(ctx, f, s, o.Options, check.Request{Action: o.action(), Change: change, Refusal: refusal})
}

// action is what the verb is asked for, as reports name it.
func (o options) action() string {
	if o.tiproxy != "" {
		return fmt.Sprintf("upgrade to %s, and TiProxy to %s", o.version, o.tiproxy)
	}
	return "upgrade to " + o.version
}

// Refusal returns why a cluster cannot be upgraded to another version, nil when it can.
func Refusal(change intent.Change) error {
	now, version := change.Now, change.Want.Spec.Version
	c := topology.New(now)
	if err := target.CheckVersion(version, now.Spec.Version); err != nil {
		return remedy.For(exit.With(exit.Usage, err),
			remedy.Run("use it nevertheless", c.Patch(fmt.Sprintf(`{"version":%q}`, version)), c.Plugin("sync")))
	}
	if pins := intent.Pinned(change.Want); len(pins) > 0 {
		k := pins[0].Component
		return remedy.For(
			exit.Refusef("%s of cluster %s/%s has a version of its own (%s), which this would not change", k, c.Namespace, c.Name, pins[0].Version),
			remedy.Run(fmt.Sprintf("change spec.%s.version", k), c.Kubectl("edit", "tidbclusters", c.Name), c.Plugin("sync")))
	}
	return nil
}

func complete(f *factory.Factory) cobra.CompletionFunc {
	names, versions := target.Complete(f), target.CompleteVersion(f)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return versions(cmd, args, word)
		}
		return names(cmd, args, word)
	}
}

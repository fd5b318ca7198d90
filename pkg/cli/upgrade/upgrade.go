// Package upgrade is the verb that takes a cluster to another version.
package upgrade

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	fleet   fleet.Options
	name    []string // the argument that names the cluster
	version string
	tiproxy string        // its version, which is not the cluster's
	backup  time.Duration // how old the data of the newest backup may be; 0: none is required
	drilled time.Duration // the same for the newest backup that a drill has restored
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:               "upgrade (NAME | --all) VERSION",
		Short:             "Take a cluster to another version",
		Long:              long,
		Example:           example,
		SuggestFor:        []string{"update", "patch"},
		Args:              o.arguments,
		ValidArgsFunction: complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			for name, age := range map[string]time.Duration{requireBackup: o.backup, requireDrilled: o.drilled} {
				if cmd.Flags().Changed(name) && age <= 0 {
					return exit.Usagef("--%s has to be more than zero, such as 24h", name)
				}
			}
			o.name, o.version = args[:len(args)-1], args[len(args)-1]
			if o.fleet.Chosen() {
				if !o.fleet.All {
					o.fleet.Name = args[0]
				}
				if err := o.fleet.Validate(cmd.Flags(), o.Options); err != nil {
					return err
				}
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f)
	return cmd
}

// arguments checks the names: one cluster and the version, or with --all only the version.
func (o *options) arguments(cmd *cobra.Command, args []string) error {
	switch {
	case !o.fleet.All:
		if err := o.fleet.Check(cmd.Flags()); err != nil {
			return err
		}
		return cobra.ExactArgs(2)(cmd, args)
	case len(args) == 0:
		return exit.Usagef("--all needs the version: give it as the only argument")
	case len(args) > 1:
		return exit.Usagef("--all takes no names: leave out %s, or leave out --all", strings.Join(args[:len(args)-1], " "))
	}
	return nil
}

func (o *options) bind(cmd *cobra.Command, f *factory.Factory) {
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	o.BindCanary(cmd)
	cmd.Flags().StringVar(&o.tiproxy, "tiproxy-version", "", "Version that TiProxy is taken to, e.g. v1.3.0; the one that it has without this flag.")
	cmd.Flags().DurationVar(&o.backup, requireBackup, 0, "Refuse to begin unless a complete full backup, as a Backup of tidb-operator, has data that is newer than this, e.g. 24h.")
	cmd.Flags().DurationVar(&o.drilled, requireDrilled, 0, "The same, with a Backup with which \"kubectl tidb backup drill\" has succeeded, e.g. 168h.")
	o.BindForce(cmd, "the new version")
	o.fleet.Bind(cmd, f, "upgrade")
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: o.action(), Request: o.request})
}

// request returns what is asked for of one cluster.
func (o options) request(ctx context.Context, f *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (check.Request, error) {
	own := map[topology.Kind]string{}
	if o.tiproxy != "" {
		if err := target.CheckVersion(o.tiproxy, ""); err != nil {
			return check.Request{}, exit.Usagef("--tiproxy-version: %w", err)
		}
		own[topology.TiProxy] = o.tiproxy
	}
	change, err := s.Intent.SetVersion(now, o.version, own)
	if err != nil {
		return check.Request{}, err
	}
	refusal := Refusal(change)
	if refusal == nil {
		refusal = o.whyNotBackedUp(ctx, f, change)
	}
	return check.Request{Action: o.action(), Change: change, Refusal: refusal}, nil
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
		before := 1 // the name
		if cmd.Flags().Changed("all") {
			before = 0
		}
		if len(args) == before {
			return versions(cmd, args, word)
		}
		return names(cmd, args, word)
	}
}

// Package restart is the verb that restarts members, one after another.
package restart

import (
	"context"
	"slices"
	"strings"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/fleet"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// options are the verb's flags and its arguments.
type options struct {
	flags.Options
	fleet      fleet.Options
	name       []string // the argument that names the cluster
	components []topology.Kind
	members    []string // pods
	cancel     bool
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "restart NAME [COMPONENT|MEMBER...]",
		Short: "Restart members one after another",
		Long: `Restart members one after another, as in an upgrade: PD's leader moves first, region leaders
leave a TiKV store before it restarts, and each member serves again before the next one
restarts. MEMBER is a pod, as basic-tikv-1 or tikv-1; COMPONENT stands for all of its members.
Without both all components are restarted, in the order of an upgrade.

It writes into the TidbCluster what is to be restarted: the annotation
tidb.pingcap.com/restartedAt of a component, or the annotation kubectl-tidb/restart with
the pods of single members. So an interrupted restart is continued with "kubectl tidb sync",
or by a daemon; this command, given again, restarts its members once more.

A member that is named keeps its pod template and its configuration. While its component is
being rolled out, the rollout goes on in its own order and restarts the member in its turn.
With the update strategy OnDelete, where others restart when a person deletes their pods, a
member that is named is restarted by this command.`,
		Example: `  kubectl tidb restart basic tikv

  # One store of TiKV and one TiDB server
  kubectl tidb restart basic tikv-1 tidb-0

  # Not to restart members that were named and have not restarted yet
  kubectl tidb restart basic --cancel

  # All components, and what that would begin with
  kubectl tidb restart basic --dry-run

  # A component of a database over several Kubernetes clusters
  kubectl tidb restart basic tikv --contexts 'prod-*'`,
		SuggestFor:        []string{"roll", "reboot", "reload"},
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: target.CompleteMembers(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if err := o.parse(args); err != nil {
				return err
			}
			if err := o.validateParts(cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.Bind(cmd)
	o.BindFieldManager(cmd)
	o.BindEviction(cmd)
	o.BindConcurrency(cmd)
	cmd.Flags().BoolVar(&o.cancel, "cancel", false, "Do not restart members that were named and have not restarted yet.")
	o.BindCanary(cmd)
	o.fleet.BindParts(cmd, f, "Restart components in")
	return cmd
}

// validateParts refuses what only one part can do, because members of several parts can have the same name.
func (o *options) validateParts(set *pflag.FlagSet) error {
	switch {
	case !o.fleet.Chosen():
		return nil
	case o.cancel:
		return exit.Usagef("--contexts does not go with --cancel: leave out one of them")
	case len(o.members) > 0:
		return exit.Usagef("--contexts restarts components in all parts, so it does not go with %s: give --context and the member", o.members[0])
	}
	return o.fleet.ValidateParts(set, o.Options, o.name[0])
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	if !o.cancel {
		return fleet.Drive(ctx, f, o.fleet, o.Options, o.name, fleet.Verb{Action: o.action(), GoOn: "sync", Request: o.request})
	}
	s, now, err := target.Load(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	return o.takeBack(ctx, f, s, now)
}

// request returns what is asked for of one cluster.
func (o options) request(ctx context.Context, f *factory.Factory, s *target.Session, now *v1alpha1.TidbCluster) (check.Request, error) {
	if len(o.components)+len(o.members) == 0 {
		for _, g := range topology.New(now).Groups {
			o.components = append(o.components, g.Kind)
		}
	}
	r := check.Request{Action: o.action()}
	var asked requests
	if len(o.members) > 0 {
		if asked, r.Refusal = o.ask(ctx, f, s, now); r.Refusal == nil {
			r.Fulfilled = func(ctx context.Context) error { return o.restarted(ctx, s, now, asked) }
		}
	}
	components := o.components
	if has := ofPart(now, components); o.fleet.Chosen() && len(has) > 0 {
		components = has
	}
	if r.Refusal == nil {
		r.Change, r.Refusal = s.Intent.Restart(now, components, asked, f.Clock.Now())
	}
	if o.fleet.Chosen() && len(ofPart(now, components)) == 0 {
		return r, &fleet.NotConcernedError{Cluster: now, Err: r.Refusal}
	}
	return r, nil
}

// ofPart returns those of some components that a part of a database has.
func ofPart(part *v1alpha1.TidbCluster, of []topology.Kind) []topology.Kind {
	return slices.DeleteFunc(slices.Clone(of), func(k topology.Kind) bool { return topology.Replicas(part, k) == nil })
}

// action is what the verb is asked for, as reports name it.
func (o options) action() string {
	if all := append(names(o.components), o.members...); len(all) > 0 {
		return "restart " + strings.Join(all, ", ")
	}
	return "restart all components"
}

// parse reads the arguments.
func (o *options) parse(args []string) error {
	o.name, o.components, o.members = args[:1], nil, nil
	c := topology.Cluster{Name: args[0]}
	for _, arg := range args[1:] {
		kind, ordinal, named := c.Named(arg)
		member := c.PodName(kind, ordinal)
		switch {
		case !named:
			return exit.Usagef("%q is neither a component nor a member of a cluster %s, such as tikv or tikv-0", arg, c.Name)
		case slices.Contains(o.components, kind) && ordinal == topology.Every, slices.Contains(o.members, member):
			return exit.Usagef("%s is given twice", arg)
		case ordinal == topology.Every:
			o.components = append(o.components, kind)
		default:
			o.members = append(o.members, member)
		}
	}
	for _, name := range o.members {
		if kind, _, _ := c.Named(name); slices.Contains(o.components, kind) {
			return exit.Usagef("%s restarts with all of %s: leave one of them out", name, kind)
		}
	}
	if o.cancel && len(args) > 1 {
		return exit.Usagef("--cancel is for all members that were named, so it does not go with %s", strings.Join(args[1:], " "))
	}
	return nil
}

func names(kinds []topology.Kind) []string {
	var all []string
	for _, k := range kinds {
		all = append(all, string(k))
	}
	return all
}

// Package status is the verb that shows one cluster. It shows what is wanted, what exists, and what the cluster
// waits for and why.
package status

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/maintenance"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	rules "github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/hosts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
)

// options are the verb's flags and its argument.
type options struct {
	name     []string // the argument that names the cluster, if there is one
	output   output.Objects
	watch    output.Watch
	contexts contexts.Flag
	until
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error {
		return o.contexts.Show(ctx, f, o.output, "ClusterStatus", func(ctx context.Context, f *factory.Factory) error { return run(ctx, f, o) })
	})
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show a cluster, its members and what it waits for",
		Long: `Show a cluster: its components, each member with what Kubernetes and the database
say of it, and what it waits for until it has converged. What cannot
be asked, such as a PD that is down, is shown as unknown.

With --for it waits until the cluster is in a state, for as long as --timeout says,
and only looks: somebody else has to drive the cluster. A wait for "converged" ends
with exit code 3 when the cluster is blocked, and with 6 when it is paused.

NAME may be left out where there is only one cluster in the namespace.`,
		Example: `  kubectl tidb status basic

  # Until interrupted, whenever something has changed
  kubectl tidb status basic -w

  # Wait for what a daemon does
  kubectl tidb upgrade basic v8.1.1 --wait=false
  kubectl tidb status basic --for=converged --timeout 30m

  # Which members do not serve?
  kubectl tidb status basic -o json | jq -r '.members[] | select(.up | not) | .name'`,
		SuggestFor:        []string{"display", "describe", "show"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			if err := errors.Join(o.output.Validate(), o.contexts.Validate(cmd.Flags()), o.validate(cmd.Flags())); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.output.Bind(cmd)
	o.contexts.Bind(cmd, f, "Show the cluster", "watch", "for")
	o.watch.Bind(cmd)
	o.table().Bind(cmd)
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	shown := spin.On(f, o.doing(s.Namespace+"/"+s.Name))
	defer shown.Stop()
	read := func(ctx context.Context) (sight, error) {
		l, err := look(ctx, s, s.Observer.Glance)
		l.context = f.Context()
		return l, err
	}
	show := func(l sight, out io.Writer) error {
		shown.Stop()
		return l.print(out, o.output)
	}
	if o.goal == "" && !bool(o.watch) {
		l, err := read(ctx)
		if err == nil {
			err = show(l, f.Streams.Out)
		}
		return cmp.Or(exit.Ended(ctx, err), drive.Said(l.unreadable))
	}
	meta, err := f.Metadata()
	if err != nil {
		return err
	}
	// The watch finds objects by the name of the cluster. Objects with another instance in their labels are seen later.
	changed := s.Observer.Watch(ctx, meta, topology.Cluster{Namespace: s.Namespace, Name: s.Name, Instance: s.Name})
	l := o.loop()
	l.Now = f.Clock.Now
	l.Pause = func(ctx context.Context, _ plan.Plan, _ error) error { return output.Pause(ctx, changed) }
	return o.await(ctx, l, read, screen{Screen: output.Screen{Out: f.Streams.Out}, all: bool(o.watch), print: show})
}

// sight has everything that is shown.
type sight struct {
	context  string // the kubeconfig context, for commands that are shown
	wanted   desired.State
	snapshot state.Snapshot
	plan     plan.Plan
	driver   lease.Holder
	operator bool // the driver is a tidb-operator
	// logBackupsUnread says why the tasks of log backup are not known; "" where they are.
	logBackupsUnread string
	unreadable       error // a *intent.MalformedError, where it is not known what is wanted
}

// sees observes a cluster: observe.Observer.Glance where the result is only shown, else observe.Observer.Against.
type sees func(context.Context, topology.Cluster) (state.Observation, error)

// look observes a cluster. Where it cannot be read what is wanted, it returns what can be shown without that.
func look(ctx context.Context, s *target.Session, see sees) (sight, error) {
	tc, err := s.Load(ctx)
	bad, malformed := errors.AsType[*intent.MalformedError](err)
	switch {
	case malformed:
		tc = bad.Cluster
	case err != nil:
		return sight{}, err
	}
	c := topology.New(tc)
	var l sight
	seen, err := see(ctx, c)
	if err != nil {
		return sight{}, err
	}
	l.snapshot = seen.Snapshot
	l.wanted, err = render.Want(seen)
	refused, ok := errors.AsType[*render.RefusedError](err)
	switch {
	case malformed && (err == nil || ok):
		l.wanted, l.plan = unreadable(c, bad)
	case ok:
		l.wanted, l.plan = impossible(c, refused)
	case err != nil:
		return sight{}, err
	default:
		l.plan = plan.Decide(component.Profiles(), plan.Policy{}, l.wanted, l.snapshot)
		l.plan.Notices = append(l.plan.Notices, older(c, observe.ReadServed(ctx, s.Dialer, c, l.snapshot))...)
	}
	l.plan.Notices = append(l.plan.Notices, maintenance.Notices(ctx, s.Kube, hosts.Sight{Cluster: c, Snapshot: l.snapshot})...)
	logs, failed := s.Observer.LogBackups(ctx, l.snapshot)
	if l.plan.Notices = append(l.plan.Notices, rules.LogBackups(c, logs)...); failed != nil {
		l.logBackupsUnread = failed.Error()
	}
	// The driver is shown if the user may read it.
	l.driver, _ = lease.ReadHolder(ctx, s.Kube, c)
	t := lease.TargetOf(c)
	found, _ := lease.NewOperators(s.Kube).Fresh(ctx, t)
	if op, drives := found.Driving(t); drives {
		l.driver, l.operator = lease.Holder{Identity: op.String(), Renewed: op.Renewed}, true
	}
	if malformed {
		l.unreadable = bad
	}
	return l, nil
}

// unreadable replaces the plan if it is unknown what is wanted, since a configuration in the
// TidbCluster is malformed.
func unreadable(c topology.Cluster, bad *intent.MalformedError) (desired.State, plan.Plan) {
	return blocked(c, plan.Gate{Reason: plan.SpecReadable, Want: "configuration in the spec is valid TOML", Observed: bad.Fields(), Remedy: bad.Remedy()})
}

// impossible replaces the plan of a cluster that cannot become what is wanted. So its members can be shown all the
// same.
func impossible(c topology.Cluster, refused *render.RefusedError) (desired.State, plan.Plan) {
	return blocked(c, plan.Gate{
		Reason: plan.UpdateAllowed, Want: "update allowed", Observed: refused.Error(),
		Remedy: append(slices.Clone(refused.Remedy), remedy.Run("change these fields back", c.Kubectl("edit", "tidbclusters", c.Name))),
	})
}

func blocked(c topology.Cluster, g plan.Gate) (desired.State, plan.Plan) {
	g.Blocked = true
	return target.Unrendered(c), plan.Plan{Outcome: plan.Blocked, Gates: []plan.Gate{g}}
}

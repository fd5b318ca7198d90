// Package why is the verb that shows why a member is restarted, removed, given up or repaired, or why not.
package why

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/status"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// options are the verb's flags and its arguments.
type options struct {
	name, member string
	output       output.Objects
	contexts     contexts.Flag
	timeout      time.Duration
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error {
		return o.contexts.Show(ctx, f, o.output, "MemberConditions", func(ctx context.Context, f *factory.Factory) error { return run(ctx, f, o) })
	})
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "why NAME MEMBER",
		Short: "Show why a member is restarted or removed now, or not",
		Long: `Show every condition for the restart, the recovery, the removal and the failover of a member,
and for its replacement where a user has asked for new volumes. They are in the order in which
a run asks for them. Of each it says whether it is met, what is observed, since when where that
is known, and who can change it: a person, Kubernetes, the database, or kubectl tidb itself.
A run does something with a member only when all of its conditions are met. MEMBER is a pod, as
basic-tikv-1 or tikv-1.

The command looks once, and changes nothing. A run watches the cluster, so that it may have
evidence that one look cannot have, such as for how long a port has refused connections.`,
		Example: `  # Why is this store not restarted?
  kubectl tidb why basic tikv-1

  # What does its restart wait for?
  kubectl tidb why basic tikv-1 -o json | jq '.restart[] | select(.met | not)'`,
		SuggestFor:        []string{"reason", "conditions"},
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: target.CompletePod(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name, o.member = args[0], args[1]
			if err := errors.Join(o.output.Validate(), o.contexts.Validate(cmd.Flags())); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.output.Bind(cmd)
	o.contexts.Bind(cmd, f, "Show the member")
	flags.BindTimeout(cmd, &o.timeout, time.Minute, "Give up reading the cluster after this long. Zero waits for ever.")
	return cmd
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, []string{o.name})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := exit.Within(ctx, o.timeout)
	defer cancel()
	shown := s.Spin(f)
	seen, err := status.Glance(ctx, s, f.Context())
	shown.Stop()
	if err = cmp.Or(err, seen.Unreadable); err != nil {
		return exit.Ended(ctx, err)
	}
	member, err := find(seen.Wanted.Cluster, seen.Snapshot, o.member)
	if err != nil {
		return err
	}
	r := result{
		namespace: s.Namespace, name: s.Name, member: member, at: seen.Snapshot.At,
		questions: plan.Why(component.Profiles(), plan.Policy{}, seen.Wanted, seen.Snapshot, member),
	}
	if o.output.Table() {
		r.print(f.Streams.Out, f.Context(), report.Width(f.Streams.Out))
		return nil
	}
	object, err := r.document(f.Context())
	if err != nil {
		return err
	}
	return o.output.Print(f.Streams.Out, object)
}

// find returns the pod's name of a member, as a person gives it.
func find(c topology.Cluster, s state.Snapshot, name string) (string, error) {
	kind, n, _ := c.Named(name)
	pod := c.PodName(kind, n)
	var all []string
	for _, k := range topology.Kinds() {
		for _, m := range s.Groups[k].Members {
			if m.Name == pod {
				return pod, nil
			}
			all = append(all, m.Name)
		}
	}
	if len(all) == 0 {
		return "", exit.Usagef("cluster %s/%s has no members yet", c.Namespace, c.Name)
	}
	short := make([]string, 0, len(all))
	for _, m := range all {
		short = append(short, strings.TrimPrefix(m, c.Name+"-"))
	}
	hint := "."
	if near := intent.Similar(strings.TrimPrefix(name, c.Name+"-"), short); len(near) > 0 {
		hint = ": did you mean " + near[0] + "?"
	}
	return "", exit.Usagef("cluster %s/%s has no member %s%s Its members are %s", c.Namespace, c.Name, name, hint, strings.Join(all, ", "))
}

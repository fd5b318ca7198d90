// Package pause has the verbs "pause" and "resume": nothing is done to a cluster while it is paused.
package pause

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/lease"
)

// options are the verb's flags and its arguments.
type options struct {
	common
	length time.Duration
	reason string
	given  bool // a length or a reason
}

// New makes the command "pause".
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error { return run(ctx, f, o) })
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "pause (NAME... | -l SELECTOR | --all)",
		Short: "Stop all changes of clusters until they are resumed",
		Long: `Stop all changes of clusters: no command, daemon or tidb-operator does anything to a
paused cluster. It sets spec.paused, and records who has paused it, when and why, which
"kubectl tidb status" shows. A process that drives the cluster ends its current step and
changes nothing after it: also an eviction of region leaders or a removal of a store that it
has begun stays, until the cluster is resumed. Those are named here, and in "kubectl tidb
status" and "kubectl tidb doctor"; "kubectl tidb evict-leader --stop" ends an eviction
during the pause.

With --for the pause ends by itself: a daemon ends it at that time and goes on. Where no
daemon runs, the next command that drives the cluster ends it, such as "kubectl tidb sync";
until then the cluster stays paused. A tidb-operator knows nothing of that time.

A pause that another user has begun is not changed before you have agreed to it.`,
		Example: `  kubectl tidb pause basic --for 2h --reason "new switches in rack 4"

  # All parts of a database over several Kubernetes clusters
  kubectl tidb pause basic --contexts 'prod-*'

  # All clusters, before an upgrade of Kubernetes
  kubectl tidb pause --all -A --reason "Kubernetes 1.36"`,
		SuggestFor:        []string{"stop", "hold", "freeze"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: target.CompleteAll(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Names = args
			o.given = cmd.Flags().Changed("for") || cmd.Flags().Changed("reason")
			if err := o.validate(cmd.Flags()); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	o.bind(cmd, f, "Pause")
	cmd.Flags().DurationVar(&o.length, "for", 0, "End the pause after this long, e.g. 2h. Without it, it lasts until the cluster is resumed.")
	cmd.Flags().StringVar(&o.reason, "reason", "", "Why the cluster is paused, for those who find it so.")
	return cmd
}

// longest bounds a reason, since it is shown in one line.
const longest = 200

func (o *options) validate(set *pflag.FlagSet) error {
	switch {
	case set.Changed("for") && o.length < time.Second:
		return exit.Usagef("--for has to be a second or more")
	case len(o.reason) > longest:
		return exit.Usagef("--reason has to be at most %d bytes long", longest)
	case strings.ContainsFunc(o.reason, unicode.IsControl):
		return exit.Usagef("--reason has to be one line of text")
	}
	return o.common.validate(set)
}

// run pauses the clusters when each of them may be paused.
func run(ctx context.Context, f *factory.Factory, o options) error {
	return o.each(ctx, f, o.judge)
}

// judge returns how a cluster is paused.
func (o options) judge(f *factory.Factory, client *intent.Client, c topology.Cluster) (change, error) {
	me, now, is := lease.Self().Person(), f.Clock.Now(), c.Pause
	switch {
	case c.Deleting:
		return change{}, exit.Refusef("%s is being deleted, so it was not paused", target.Title(c))
	case c.Paused && !o.given && !is.Over(now):
		return change{Cluster: c, result: fmt.Sprintf("%s is %s; nothing was changed", target.Title(c), is), pauses: true}, nil
	case c.Paused && !is.Recorded:
		return change{}, remedy.For(
			exit.Refusef("%s is %s; only a pause that was begun by this command has a reason and a time, so nothing was changed", target.Title(c), is),
			remedy.Run("end that pause before", c.Plugin("resume")))
	}
	next, changes := o.nextPause(is, me, now), c.Paused && !is.Over(now)
	ch := change{
		Cluster: c, doing: "pause " + target.Title(c), pauses: true, write: client.Pause(c.Written, next).Write,
		result: o.done(fmt.Sprintf("%s is %s", target.Title(c), next), fmt.Sprintf("%s would be %s", target.Title(c), next)),
	}
	if changes {
		ch.result = o.done(fmt.Sprintf("%s is %s; it was %s", target.Title(c), next, is), fmt.Sprintf("%s is %s; it would be %s", target.Title(c), is, next))
	}
	if changes && is.By != me {
		ch.asks = fmt.Sprintf("it is %s, and will be %s", is, next)
	}
	if !next.Until.IsZero() {
		ch.hint = remedy.Remedy{remedy.Run("a daemon ends the pause at that time; where none runs, the next command does, such as", c.Plugin("sync"))}
	}
	return ch, nil
}

// nextPause returns the pause that follows one. What the flags do not say stays.
func (o options) nextPause(is topology.Pause, by string, now time.Time) topology.Pause {
	next := topology.Pause{By: by, Since: now, Reason: o.reason, Recorded: true}
	if o.length > 0 {
		next.Until = now.Add(o.length)
	}
	if !is.Recorded || is.Over(now) {
		return next
	}
	if is.By == by {
		next.Since = is.Since
	}
	if o.reason == "" {
		next.Reason = is.Reason
	}
	if o.length == 0 {
		next.Until = is.Until
	}
	return next
}

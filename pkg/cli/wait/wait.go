// Package wait is the verb that waits until a cluster is in a state, and changes nothing.
package wait

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/contexts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/drive"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/observe"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// options are the verb's flags and its argument.
type options struct {
	name     []string // the argument that names the cluster, if there is one
	until    string
	contexts contexts.Flag
	Awaited
}

// Awaited is what a verb waits for, and how.
type Awaited struct {
	Goal    Goal
	Timeout time.Duration // zero waits for ever
	Output  output.Format
}

// Bind adds the flags of a verb that waits.
func (a *Awaited) Bind(cmd *cobra.Command) {
	flags.BindTimeout(cmd, &a.Timeout, 0, "Stop waiting after this long, e.g. 30m. Zero waits for ever.")
	a.Output.Bind(cmd, "With json, one event per line on stdout rather than progress on stderr.")
}

// Validate checks what is known from the flags alone.
func (a *Awaited) Validate() error {
	if a.Timeout < 0 {
		return exit.Usagef("--timeout must not be negative")
	}
	return nil
}

// New makes the command.
func New(f *factory.Factory) *cobra.Command {
	return command(f, func(ctx context.Context, o options) error {
		return o.contexts.Follow(ctx, f, o.Output.JSON(), func(ctx context.Context, f *factory.Factory) error { return run(ctx, f, o) })
	})
}

func command(f *factory.Factory, run func(context.Context, options) error) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "wait [NAME] --for=STATE",
		Short: "Wait until a cluster is in a state",
		Long: `Wait until a cluster is in a state, and show what it waits for until then as a command
does that drives. Nothing is changed: a daemon, an operator or another command has to
drive the cluster. STATE is one of

* converged: it is what its TidbCluster says, as the exit code 0 of a driving command means
* version=VERSION: spec.version is that, and each member that follows it serves with it
* replicas=COMPONENT=N: the spec asks for so many, all of them serve, and no other is there
* condition=TYPE[=STATUS]: a condition in the status of the TidbCluster, about its present
  spec; STATUS is True where it is not given

The exit codes are those of a run: 3 where only a person can go on, 4 after --timeout, which
names what did not hold, 6 where the cluster is paused, and 7 where it is deleted. A wait for
a condition goes on in the cases of 3 and 6.

NAME may be left out where there is only one cluster in the namespace.`,
		Example: `  kubectl tidb upgrade basic v8.5.2 --wait=false
  kubectl tidb wait basic --for=version=v8.5.2 --timeout 30m

  # In a pipeline, after a GitOps tool has changed the TidbCluster
  kubectl tidb wait basic --for=converged --timeout 1h -o json

  kubectl tidb wait basic --for=replicas=tikv=4

  # Until the cluster of this name is so in each of these Kubernetes clusters
  kubectl tidb wait basic --for=version=v8.5.2 --contexts 'prod-*' --timeout 2h`,
		SuggestFor:        []string{"await", "watch"},
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: target.Complete(f),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args
			var err error
			if o.Goal, err = parse(o.until); err != nil {
				return err
			}
			if err := errors.Join(o.Validate(), o.contexts.Validate(cmd.Flags())); err != nil {
				return err
			}
			return run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.until, "for", "", "What to wait for: "+forms+".")
	_ = cmd.MarkFlagRequired("for")
	o.Bind(cmd)
	o.contexts.Bind(cmd, f, "Wait for the cluster")
	_ = cmd.RegisterFlagCompletionFunc("for", completeGoal) // the only error is a flag that does not exist
	return cmd
}

func completeGoal(_ *cobra.Command, _ []string, begin string) ([]string, cobra.ShellCompDirective) {
	all := []string{converged, "version=", "condition=Ready"}
	for _, k := range topology.Kinds() {
		all = append(all, fmt.Sprintf("replicas=%s=", k))
	}
	var found []string
	for _, a := range all {
		if strings.HasPrefix(a, begin) {
			found = append(found, a)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func run(ctx context.Context, f *factory.Factory, o options) error {
	s, err := target.Open(ctx, f, o.name)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := o.Until(ctx, f, s); err != nil {
		return err
	}
	if !o.Output.JSON() {
		fmt.Fprintf(f.Streams.Out, "tidbcluster.pingcap.com/%s condition met\n", s.Name)
	}
	return nil
}

// Until waits, and shows what it waits for until then.
func (a Awaited) Until(ctx context.Context, f *factory.Factory, s *target.Session) error {
	ctx, cancel := exit.Within(ctx, a.Timeout)
	defer cancel()
	tc, err := s.Load(ctx) // before anything is shown: a name that does not exist needs no screen
	if err != nil {
		return exit.Ended(ctx, err)
	}
	meta, err := f.Metadata()
	if err != nil {
		return err
	}
	action := "wait for " + a.Goal.text
	printer := s.Printer(f, a.Output, action)
	defer printer.Close()
	progress := s.Progress(f, action, printer)
	watch, stop := context.WithCancel(ctx)
	defer stop()
	pacer := &reconcile.Pacer{
		Nudges: s.Observer.Watch(watch, meta, topology.New(tc)), Now: f.Clock.Now, Wake: s.Observer.ReadChanges().Wake,
	}
	l := Loop{
		Goal: a.Goal, Now: f.Clock.Now, Existed: true, Outage: drive.Outage,
		Look:  func(ctx context.Context, live bool) (Sight, error) { return look(ctx, s.Observer, live) },
		Show:  func(s Sight, _ bool) error { a.Goal.report(progress, s); return nil },
		Fail:  progress.Failed,
		Pause: pacer.Wait,
		Late:  a.timeoutError,
	}
	begun := time.Now()
	err = l.Run(ctx)
	progress.Done(a.outcome(err), int(exit.Of(err)), time.Since(begun), explain.Error(err))
	return drive.Said(err)
}

// outcome names how a wait ended.
func (a Awaited) outcome(err error) string {
	if err == nil && a.Goal.text != converged {
		return event.OutcomeReached
	}
	return drive.Outcome(err)
}

// timeoutError returns the error after a timeout, with what was awaited.
func (a Awaited) timeoutError() error {
	after := ""
	if a.Timeout > 0 { // otherwise the caller has bounded it, together with what else it does
		after = fmt.Sprintf(" after %s", a.Timeout)
	}
	return exit.With(exit.TimedOut, fmt.Errorf("timed out%s; what was awaited has not come: %s", after, a.Goal.text))
}

// look observes a cluster, and decides what a driver would do.
func look(ctx context.Context, o *observe.Observer, live bool) (Sight, error) {
	seen, err := o.Observe(ctx, live)
	if err != nil {
		return Sight{}, err
	}
	wanted, err := render.Want(seen)
	if err != nil {
		return Sight{}, err
	}
	return Sight{Wanted: wanted, Snapshot: seen.Snapshot, Plan: plan.Decide(component.Profiles(), plan.Policy{}, wanted, seen.Snapshot)}, nil
}

// report shows a look as a run shows its turns. What is awaited is a gate as well, unless the gates
// of the plan are all there is to it.
func (g Goal) report(progress *reconcile.Progress, s Sight) {
	p := s.Plan
	if kind, lacks := g.lacks(s); lacks != "" && g.text != converged {
		p.Gates = append([]plan.Gate{{Component: kind, Reason: plan.GoalReached, Want: g.text, Observed: lacks}}, p.Gates...)
	}
	progress.Decided(s.Wanted, s.Snapshot, p)
}

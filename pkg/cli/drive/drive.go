// Package drive carries out a request that package check has passed. It writes the intent, and runs the engine until
// the cluster matches it. A verb adds only what it wants.
package drive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/check"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/finding"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// upkeepAtOnce is how many small corrections are made at the same time. One after the other, they would take the
// first minute of a big cluster.
const upkeepAtOnce = 8

// run is what drives one cluster, or follows another driver.
type run struct {
	*target.Session
	f        *factory.Factory
	o        flags.Options
	policy   plan.Policy
	progress *reconcile.Progress
}

// Run checks what the request wants, writes it, and drives the cluster. With --dry-run it only
// prints what would be done.
func Run(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r check.Request) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	begun := time.Now()
	r = r.WithFlags(o)
	p, err := check.Ask(ctx, f, s, o, r)
	var asked *v1alpha1.TidbCluster
	if err == nil {
		asked, err = write(ctx, s, o, r, p)
	}
	if err == nil && r.Written != nil {
		r.Written()
	}
	err = exit.Ended(ctx, err)
	reporters := reconcile.Reporters{o.Reports.In(f.Context())}
	// Otherwise the result of a dry run is a text, and a refusal an error.
	shown := o.Output.JSON() || err == nil && o.DryRun == flags.NoDryRun
	if shown {
		printer := s.Printer(f, o.Output, r.Action)
		defer printer.Close()
		reporters = append(reporters, printer)
	} else if err == nil {
		p.Print(f.Streams.Out, f.Context())
	}
	progress := s.Progress(f, r.Action, reporters)
	notify(progress, p, o, err)
	if err == nil {
		err = run{s, f, o, r.Policy, progress}.carryOut(ctx, r, p, asked)
	}
	progress.Done(outcome(p, err, o), int(exit.Of(err)), time.Since(begun), explain.Error(err))
	if shown {
		err = Said(err)
	}
	return reported(o, err)
}

// carryOut does what is asked for, or reports what a dry run has found. asked is what was written, nil for nothing.
func (r run) carryOut(ctx context.Context, req check.Request, p check.Prospect, asked *v1alpha1.TidbCluster) error {
	switch c := p.Wanted.Cluster; {
	case r.o.DryRun != flags.NoDryRun:
		return r.foresee(p)
	case c.Paused:
		return check.Paused(c, "; what is wanted was written, and nothing else was done")
	case !r.o.Wait && p.Plan.Outcome == plan.Converged: // nothing is left to do
		return nil
	case !r.o.Wait:
		return exit.Ended(ctx, r.leave(ctx, c))
	}
	err := conclude(r.converge(ctx))
	if err == nil {
		r.noteCopies(ctx, p)
		err = fulfilled(ctx, r.Session, req, asked)
	}
	return withWayBack(ctx, r.Session, asked, exit.Ended(ctx, err))
}

// foresee reports a dry run as events.
func (r run) foresee(p check.Prospect) error {
	r.progress.Decided(p.Wanted, p.Snapshot, p.Plan)
	for _, step := range p.Plan.Steps {
		r.progress.Notice(event.FirstStep, "would begin with: "+step.String())
	}
	return Verdict(p, r.o)
}

// notify reports what is to be known before the run begins.
func notify(progress *reconcile.Progress, p check.Prospect, o flags.Options, err error) {
	for _, w := range p.Warnings {
		progress.Notice(cmp.Or(w.Reason, event.SpecWarning), w.Text, w.Remedy...)
	}
	if p.Ends.Recorded && o.DryRun == flags.NoDryRun && err == nil {
		progress.Notice(event.PauseEnded, p.Ends.String()+"; that time is over, and the pause has ended")
	}
}

// outcome names how a run ended.
func outcome(p check.Prospect, err error, o flags.Options) string {
	switch {
	case err != nil || p.Plan.Outcome == plan.Converged:
	case o.DryRun != flags.NoDryRun:
		return event.OutcomeChanges
	case !o.Wait:
		return event.OutcomeWritten
	}
	return Outcome(err)
}

// reported writes the reports of a run, and returns its error. If there is none, that of the
// reports counts: a pipeline relies on them.
func reported(o flags.Options, err error) error {
	if failed := o.Reports.Write(); failed != nil {
		return exit.With(max(exit.Of(err), exit.Failure), errors.Join(err, failed))
	}
	return err
}

// Unneeded ends a command that has nothing to do: its events and its reports say so, too.
func Unneeded(f *factory.Factory, s *target.Session, o flags.Options, action, why string) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	printer := s.Printer(f, o.Output, action)
	defer printer.Close()
	progress := s.Progress(f, action, reconcile.Reporters{o.Reports.In(f.Context()), printer})
	progress.Notice(event.NothingToDo, why)
	progress.Done(event.OutcomeConverged, int(exit.OK), 0, nil)
	return reported(o, nil)
}

// Refused reports a command that was refused before its run: its reports say so, and with -o json an event. The text of
// the error is left to the caller.
func Refused(f *factory.Factory, s *target.Session, o flags.Options, action string, err error) {
	reporters := reconcile.Reporters{o.Reports.In(f.Context())}
	if o.Output.JSON() {
		printer := s.Printer(f, o.Output, action)
		defer printer.Close()
		reporters = append(reporters, printer)
	}
	s.Progress(f, action, reporters).Done(Outcome(err), int(exit.Of(err)), 0, explain.Error(err))
}

// NotBegun reports a run that ends before it has begun, and returns its error.
func NotBegun(f *factory.Factory, s *target.Session, o flags.Options, action string, err error) error {
	Refused(f, s, o, action, err)
	if o.Output.JSON() {
		err = Said(err)
	}
	return reported(o, err)
}

// Foresee returns what Run would begin with in a dry run, and refuses what Run would refuse. It changes nothing.
func Foresee(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r check.Request) (check.Prospect, error) {
	r = r.WithFlags(o)
	p, err := check.Ask(ctx, f, s, o, r)
	if err == nil {
		_, err = write(ctx, s, o, r, p)
	}
	return p, err
}

// Agreed refuses a request that takes away what the user was not asked about. Effects are those that the user has agreed
// to. Somebody may have changed the cluster in the hours since then, while other clusters were driven.
func Agreed(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r check.Request, effects []string) error {
	o.Yes, o.DryRun = true, flags.ServerDryRun
	p, err := Foresee(ctx, f, s, o, r)
	if err != nil {
		return err
	}
	for _, effect := range p.Effects() {
		if !slices.Contains(effects, effect) {
			return exit.Refusef("cluster %s/%s has changed since you were asked: %s; nothing was changed", s.Namespace, s.Name, effect)
		}
	}
	return nil
}

// Plan shows what Run would do, in the format of -o, and changes nothing.
func Plan(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, format output.Objects, r check.Request) error {
	o.DryRun = flags.ServerDryRun
	p, err := Foresee(ctx, f, s, o, r)
	if err != nil {
		return err
	}
	p.Warnings = append(p.Warnings, logBackups(ctx, s, p)...)
	shown := p.Preview(f.Context())
	if format.Table() {
		shown.Print(f.Streams.Out, report.Width(f.Streams.Out))
		return Verdict(p, o)
	}
	object, err := shown.Object()
	if err == nil {
		err = format.Print(f.Streams.Out, object)
	}
	if err != nil {
		return err
	}
	return Verdict(p, o)
}

// logBackups returns which log backups are paused or behind. A restart of stores does not make that better. What cannot
// be read is left out, and "doctor" says why.
func logBackups(ctx context.Context, s *target.Session, p check.Prospect) []check.Warning {
	tasks, _ := s.Observer.LogBackups(ctx, p.Snapshot)
	var notes []check.Warning
	for _, f := range finding.LogBackups(p.Wanted.Cluster, tasks) {
		notes = append(notes, check.Warning{Text: f.Text, Remedy: f.Remedy})
	}
	return notes
}

// Verdict returns the error with which a dry run ends.
func Verdict(p check.Prospect, o flags.Options) error {
	switch {
	case p.Plan.Outcome == plan.Converged:
		return nil
	case p.Plan.Outcome == plan.Paused:
		return check.Paused(p.Wanted.Cluster, "")
	case slices.Contains([]plan.Outcome{plan.Blocked, plan.Canary}, p.Plan.Outcome):
		return conclude(p.Plan, nil)
	case o.ExitCode:
		return exit.With(exit.Pending, nil)
	}
	return nil
}

package drive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/explain"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/output"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/spin"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
)

// upkeepAtOnce is how many small corrections are made at the same time. One after the other, they would take the
// first minute of a big cluster.
const upkeepAtOnce = 8

// Run checks what the request wants, writes it, and drives the cluster. With --dry-run it only
// prints what would be done.
func (s *Session) Run(ctx context.Context, f *factory.Factory, o flags.Options, r Request) error {
	if err := o.Reports.Begin(); err != nil {
		return err
	}
	ctx, cancel := exit.Within(ctx, o.Timeout)
	defer cancel()
	begun := time.Now()
	r.Policy.Eviction = o.Eviction
	r = r.withCanary(o)
	p, asked, err := s.ask(ctx, f, o, propose(r).atTime(f.Clock.Now()))
	err = exit.Ended(ctx, err)
	if o.DryRun != flags.NoDryRun {
		p.warnings = append(p.warnings, p.foretold()...)
	}
	reporters := reconcile.Reporters{o.Reports.In(f.Context())}
	// Otherwise the result of a dry run is a text, and a refusal an error.
	shown := o.Output.JSON() || err == nil && o.DryRun == flags.NoDryRun
	if shown {
		printer := s.Printer(f, o.Output, r.Action)
		defer printer.Close()
		reporters = append(reporters, printer)
	} else if err == nil {
		p.print(f.Streams.Out, f.Context())
	}
	progress := reconcile.NewProgress(s.Namespace, s.Name, f.Clock.Now, reporters).In(f.Context()).For(r.Action)
	p.notify(progress, o, err)
	switch {
	case err != nil:
	case o.DryRun != flags.NoDryRun:
		err = p.report(progress, o)
	case p.request.want.Paused:
		err = p.request.writtenWhilePaused()
	case !o.Wait && p.plan.Outcome == plan.Converged: // nothing is left to do
	case !o.Wait:
		err = exit.Ended(ctx, s.leave(ctx, p.request.want, progress))
	default:
		if err = conclude(s.converge(ctx, f, o, r.Policy, progress)); err == nil {
			err = s.fulfilled(ctx, r, asked)
		}
		err = s.withWayBack(ctx, asked, exit.Ended(ctx, err))
	}
	progress.Done(p.outcome(err, o), int(exit.Of(err)), time.Since(begun), explain.Error(err))
	if shown {
		err = Said(err)
	}
	return reported(o, err)
}

// notify reports what is to be known before the run begins.
func (p prospect) notify(progress *reconcile.Progress, o flags.Options, err error) {
	for _, w := range p.warnings {
		progress.Notice(cmp.Or(w.reason, event.SpecWarning), w.text, w.remedy...)
	}
	if p.request.ends.Recorded && o.DryRun == flags.NoDryRun && err == nil {
		progress.Notice(event.PauseEnded, p.request.ends.String()+"; that time is over, and the pause has ended")
	}
}

// outcome names how a run ended.
func (p prospect) outcome(err error, o flags.Options) string {
	switch {
	case err != nil || p.plan.Outcome == plan.Converged:
	case o.DryRun != flags.NoDryRun:
		return event.OutcomeChanges
	case !o.Wait:
		return event.OutcomeWritten
	}
	return Outcome(err)
}

// Printer returns what shows the events of a run.
func (s *Session) Printer(f *factory.Factory, format output.Format, action string) *report.Printer {
	opts := report.Detect(f.Streams.Out, f.Streams.ErrOut, format.String(), f.Env)
	opts.Context, opts.Namespace, opts.Cluster, opts.Action = f.Context(), s.Namespace, s.Name, action
	opts.Now = f.Clock.Now
	return report.New(opts)
}

// reported writes the reports of a run, and returns its error. If there is none, that of the
// reports counts: a pipeline relies on them.
func reported(o flags.Options, err error) error {
	if failed := o.Reports.Write(); failed != nil {
		return exit.With(max(exit.Of(err), exit.Failure), errors.Join(err, failed))
	}
	return err
}

// ask checks a request, and asks the user for consent where the request needs that. It writes the intent, and
// returns the intent as it was written.
func (s *Session) ask(ctx context.Context, f *factory.Factory, o flags.Options, r proposal) (prospect, *v1alpha1.TidbCluster, error) {
	p, err := s.shown(ctx, f, o, r)
	if err == nil {
		err = s.obeyed(ctx, o, r)
	}
	if err == nil {
		err = s.admitted(ctx, o, &p)
	}
	if err != nil {
		return p, nil, err
	}
	notes := p.warnings
	asked, err := p.consent(ctx, f, o)
	if err == nil && asked { // the answer may have come an hour later
		p, err = s.shown(ctx, f, o, r)
		p.warnings = notes
	}
	if err != nil {
		return p, nil, err
	}
	if r.ends.Recorded && o.DryRun == flags.NoDryRun {
		if err := s.Intent.EndPause(ctx, r.Now); err != nil {
			return p, nil, err
		}
	}
	written, err := s.write(ctx, r.Request, o)
	return p, written, err
}

// shown checks a request, and shows that it does: members that do not answer take seconds.
func (s *Session) shown(ctx context.Context, f *factory.Factory, o flags.Options, r proposal) (prospect, error) {
	if !o.Output.JSON() {
		defer spin.On(f, "reading cluster "+s.Namespace+"/"+s.Name).Stop()
	}
	return s.check(ctx, r)
}

// check compares a request with the cluster, and refuses what cannot or must not be done before
// anything is changed.
func (s *Session) check(ctx context.Context, r proposal) (prospect, error) {
	if err := r.checkRequest(); err != nil {
		return prospect{}, err
	}
	want := r.want
	var found findings
	var seen state.Observation
	var both errgroup.Group
	both.Go(func() (err error) { found, err = look(ctx, s.Kube, want); return err })
	both.Go(func() (err error) {
		// The context must not end with the group: the connections that are made here are used for
		// the whole run.
		seen, err = r.patient(ctx, electionTime, func() (state.Observation, error) { return s.Observer.Against(ctx, want) })
		return err
	})
	if err := both.Wait(); err != nil {
		return prospect{}, err
	}
	snap := seen.Snapshot
	w, err := s.Want(seen)
	refused, impossible := errors.AsType[*render.RefusedError](err)
	if err != nil && !impossible {
		return prospect{}, err
	}
	problems, warnings := found.judge(r, snap)
	back, err := retreats(ctx, s.Kube, r, snap)
	if err != nil {
		return prospect{}, err
	}
	problems = append(problems, refusals(back, snap)...)
	if err := rejected(want, problems, refused); err != nil {
		return prospect{}, err
	}
	if err := r.allow(w, snap); err != nil {
		return prospect{}, err
	}
	unread, err := r.readable(want, facts.Kept(w, snap))
	if err != nil {
		return prospect{}, err
	}
	return prospect{
		request: r, wanted: w, snapshot: snap, warnings: slices.Concat(r.merges(seen, w), r.warnings(), warnings, r.unknownFields(), unread, cramped(w, snap)),
		plan: plan.Decide(component.Profiles(), r.Policy, w, snap), differences: render.Differences(seen, w),
	}, nil
}

// rejected returns an error with everything that is wrong with a request, nil for nothing. refused
// is why the objects cannot be rendered, nil when they can.
func rejected(want topology.Cluster, problems field.ErrorList, refused *render.RefusedError) error {
	var help remedy.Remedy
	if refused != nil {
		problems, help = append(problems, refused.Fields...), refused.Remedy
	}
	if len(problems) == 0 {
		return nil
	}
	return remedy.For(refuse(want, "update rejected", lines(problems)), help...)
}

// report reports a dry run as events.
func (p prospect) report(progress *reconcile.Progress, o flags.Options) error {
	progress.Decided(p.wanted, p.snapshot, p.plan)
	for _, step := range p.plan.Steps {
		progress.Notice(event.FirstStep, "would begin with: "+step.String())
	}
	return p.verdict(o)
}

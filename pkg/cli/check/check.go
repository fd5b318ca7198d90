// Package check is what comes before a run: what a verb wants, what is refused of it, and what the user is asked.
// Nothing is written here. Package drive carries out what has passed.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/factory"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/flags"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/preview"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/component"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/forecast"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/render"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/admission"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/report"
)

// Prospect is a request, compared with the cluster as it is.
type Prospect struct {
	Wanted   desired.State
	Snapshot state.Snapshot
	Plan     plan.Plan
	// Warnings are no reason to refuse.
	Warnings []Warning
	// Ends is a pause whose time is over. The run ends the pause before anything else.
	Ends topology.Pause

	request proposal
	// differences are what changes in the pods of components.
	differences []render.Difference
}

// Ask checks a request, and asks the user for consent where the request needs that. With an error the prospect has
// what was found until then.
func Ask(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r Request) (Prospect, error) {
	p, err := ask(ctx, f, s, o, propose(r).atTime(f.Clock.Now()))
	if o.DryRun != flags.NoDryRun {
		p.Warnings = append(p.Warnings, p.warningsOfDryRun()...)
	}
	return p, err
}

func ask(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r proposal) (Prospect, error) {
	p, err := show(ctx, f, s, o, r)
	if err == nil {
		err = r.obeyed(ctx, s.Operators, o)
	}
	if err == nil {
		err = p.admit(ctx, s, o)
	}
	if err != nil {
		return p, err
	}
	notes := p.Warnings
	asked, err := p.consent(ctx, f, o)
	if err == nil && asked { // the answer may have come an hour later
		p, err = show(ctx, f, s, o, r)
		p.Warnings = notes
	}
	return p, err
}

// show compares a request with the cluster, and shows that it does: members that do not answer take seconds.
func show(ctx context.Context, f *factory.Factory, s *target.Session, o flags.Options, r proposal) (Prospect, error) {
	if !o.Output.JSON() {
		defer s.Spin(f).Stop()
	}
	return r.compare(ctx, s)
}

// Try refuses what a run would refuse, and changes nothing.
func Try(ctx context.Context, s *target.Session, r Request) error {
	_, err := Compare(ctx, s, r)
	if err == nil && r.Write != nil {
		err = r.Write(ctx, intent.Write{DryRun: true})
	}
	return err
}

// Compare compares a request with the cluster, and refuses what cannot or must not be done before anything is
// changed.
func Compare(ctx context.Context, s *target.Session, r Request) (Prospect, error) {
	return propose(r).atTime(s.Now()).compare(ctx, s)
}

func (p proposal) compare(ctx context.Context, s *target.Session) (Prospect, error) {
	if err := p.checkRequest(); err != nil {
		return Prospect{}, err
	}
	if p.Policy.Concurrency.Batches() {
		s.Observer.ReadIsolation()
	}
	var found findings
	var seen state.Observation
	var both errgroup.Group
	both.Go(func() (err error) { found, err = look(ctx, s.Kube, p.wanted); return err })
	both.Go(func() (err error) {
		// The context must not end with the group: the connections that are made here are used for
		// the whole run.
		seen, err = p.patient(ctx, electionTime, func() (state.Observation, error) { return s.Observer.Against(ctx, p.wanted) })
		return err
	})
	if err := both.Wait(); err != nil {
		return Prospect{}, err
	}
	snap := seen.Snapshot
	w, err := s.Want(seen)
	refused, impossible := errors.AsType[*render.RefusedError](err)
	if err != nil && !impossible {
		return Prospect{}, err
	}
	problems, warnings := found.judge(p, snap)
	back, err := retreats(ctx, s.Kube, p, snap)
	if err != nil {
		return Prospect{}, err
	}
	problems = append(problems, refusals(back, snap)...)
	apart, help, notes, err := p.compareParts(ctx, s)
	if err != nil {
		return Prospect{}, err
	}
	problems, warnings = append(problems, apart...), append(warnings, notes...)
	if err := rejected(p.wanted, problems, refused, help); err != nil {
		return Prospect{}, err
	}
	if err := p.allow(w, snap); err != nil {
		return Prospect{}, err
	}
	unread, err := p.readable(p.wanted, facts.Kept(w, snap))
	if err != nil {
		return Prospect{}, err
	}
	return Prospect{
		Wanted: w, Snapshot: snap, Plan: plan.Decide(component.Profiles(), p.Policy, w, snap), Ends: p.ends,
		Warnings: slices.Concat(p.merges(seen, w), p.warnings(), warnings, p.unknownFields(), unread, cramped(w, snap)),
		request:  p, differences: render.Differences(seen, w),
	}, nil
}

const (
	// electionTime is longer than PD takes to elect a leader, also on a busy machine.
	electionTime = 15 * time.Second
	// askAgain is how soon PD is asked again.
	askAgain = 500 * time.Millisecond
)

// patient observes again, for some time, while PD does not answer and the request would be refused because of that. One
// reading says little: PD answers nobody while it elects a leader, and a pipeline would fail.
func (p proposal) patient(ctx context.Context, atMost time.Duration, observe func() (state.Observation, error)) (seen state.Observation, err error) {
	late := wait.PollUntilContextTimeout(ctx, askAgain, atMost, true, func(context.Context) (bool, error) {
		seen, err = observe()
		return err != nil || p.seeing(p.wanted, seen.Snapshot) == nil, nil
	})
	if err == nil && late != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return seen, err
}

// rejected returns an error with everything that is wrong with a request, nil for nothing. refused
// is why the objects cannot be rendered, nil when they can.
func rejected(want topology.Cluster, problems field.ErrorList, refused *render.RefusedError, help remedy.Remedy) error {
	if refused != nil {
		problems, help = append(problems, refused.Fields...), append(help, refused.Remedy...)
	}
	if len(problems) == 0 {
		return nil
	}
	return remedy.For(refuse(want, "update rejected", lines(problems)), help...)
}

// admit refuses a change of which the API server says that it would not take the objects. It adds to the
// warnings what the API server does not take now, and what it could not be asked. A run that writes no intent makes the
// same objects as the one before it, and --dry-run=client only reads.
func (p *Prospect) admit(ctx context.Context, s *target.Session, o flags.Options) error {
	if p.request.Write == nil || o.DryRun == flags.ClientDryRun {
		return nil
	}
	answer := admission.Ask(ctx, s.Kube, p.Wanted)
	if len(answer.Refused) > 0 {
		return refuse(p.request.wanted, "update rejected", answer.Refused)
	}
	for _, n := range answer.Notes {
		p.Warnings = append(p.Warnings, Warning{Text: n})
	}
	return nil
}

// Preview returns what would be done.
func (p Prospect) Preview(context string) preview.Preview {
	var notes []string
	for _, w := range p.Warnings {
		notes = append(notes, w.line(context))
	}
	if p.Ends.Recorded {
		notes = append(notes, fmt.Sprintf("%s; that time is over, and the pause would end", p.Ends))
	}
	batches := map[topology.Kind][][]state.Member{}
	if p.request.Policy.Concurrency.Batches() {
		for _, g := range p.Wanted.Groups {
			batches[g.Kind] = plan.Batches(component.Profiles(), p.request.Policy, p.Wanted, p.Snapshot, g.Kind)
		}
	}
	return preview.Preview{
		Context: context, Action: p.request.Action, Now: p.request.existing, Wanted: p.Wanted, Seen: p.Snapshot, Notes: notes,
		Differences: p.differences, Batches: batches,
		Forecast: forecast.Of(component.Profiles(), p.request.Policy, p.Wanted, p.Snapshot),
	}
}

// Print prints what would be done.
func (p Prospect) Print(out io.Writer, context string) {
	p.Preview(context).Print(out, report.Width(out))
}

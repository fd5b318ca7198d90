package reconcile

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/topology"
)

// Story turns turns into events. It remembers what it has told, so that each
// change is told once; the decisions do not depend on it.
type Story struct {
	namespace, cluster string
	context            string // the kubeconfig context, for commands that are shown
	now                func() time.Time
	reporter           Reporter

	// endless: the story begins when there is something to do, ends when the
	// cluster has converged, and can begin again.
	endless bool
	planned bool
	gates   []gateSeen
	counts  map[topology.Kind]counts
	aside   map[string]bool // notices about upkeep
	found   []plan.Finding  // of the last turn
}

type gateSeen struct {
	gate  plan.Gate
	since time.Time
}

// find finds a gate by what it is, whatever is observed at it.
func find(gates []gateSeen, g plan.Gate) (gateSeen, bool) {
	for _, s := range gates {
		if s.gate.Key() == g.Key() {
			return s, true
		}
	}
	return gateSeen{}, false
}

type counts struct{ ready, updated, wanted int }

// NewStory makes a story of one cluster for one reporter.
func NewStory(namespace, cluster string, now func() time.Time, r Reporter) *Story {
	return &Story{
		namespace: namespace, cluster: cluster, now: now, reporter: r,
		counts: map[topology.Kind]counts{}, aside: map[string]bool{},
	}
}

// In has the commands that a person can run name a kubeconfig context.
func (st *Story) In(context string) *Story {
	st.context = context
	return st
}

// Endless makes it a story that is told again and again: nothing is told of a
// cluster that stays as it is wanted.
func (st *Story) Endless() *Story {
	st.endless = true
	return st
}

// Decided tells what a turn decided: gates that closed, changed or opened, and
// the numbers of each component.
func (st *Story) Decided(w plan.Wanted, s state.Snapshot, p plan.Plan) {
	if !st.begin(p) {
		return
	}
	st.found = p.Findings
	for _, g := range w.Groups {
		st.progress(g, s.Groups[g.Kind])
	}
	st.facts(s, p)
	st.waits(p)
}

// facts tells once what no gate waits for.
func (st *Story) facts(s state.Snapshot, p plan.Plan) {
	for _, f := range p.Findings {
		if f.Member == "" { // it may be over when the run ends
			st.once(f.Text, event.Event{Component: string(f.Component), Message: f.Text, Remedy: f.Remedy.In(st.context)})
		}
	}
	for _, g := range s.Gaps {
		st.once(g.What, event.Event{Message: "cannot read " + g.What + ": " + g.Problem, Remedy: g.Remedy.In(st.context)})
	}
	if p.Outcome == plan.Converged {
		for _, u := range p.Unapplied {
			if len(u.Older) == 0 {
				continue // what is unknown is for who looks
			}
			st.once(u.String(), event.Event{Component: string(u.Component), Message: u.String(), Remedy: u.Remedy.In(st.context)})
		}
	}
}

// waits tells of gates that are new, have changed or are not there any more.
func (st *Story) waits(p plan.Plan) {
	var open []gateSeen
	for _, g := range p.Gates {
		seen, known := find(st.gates, g)
		if !known {
			seen.since = st.now()
		}
		if last := seen.gate; !known || last.Observed != g.Observed || last.Blocked != g.Blocked || last.Remedy.Line("") != g.Remedy.Line("") {
			st.tell(st.waiting(g, seen.since))
		}
		open = append(open, gateSeen{gate: g, since: seen.since})
	}
	for _, seen := range st.gates {
		if _, still := find(open, seen.gate); !still {
			e := st.waiting(seen.gate, seen.since)
			e.Type, e.Seconds = event.Passed, st.now().Sub(seen.since).Seconds()
			st.tell(e)
		}
	}
	st.gates = open
}

// begin tells how the story begins, once, and whether it has.
func (st *Story) begin(p plan.Plan) bool {
	if st.planned {
		return true
	}
	if st.endless && (p.Outcome == plan.Converged || p.Outcome == plan.Paused) {
		return false
	}
	st.planned = true
	st.tell(event.Event{Type: event.Planned, Outcome: p.Outcome.String()})
	return true
}

func (st *Story) progress(want plan.Group, got state.Group) {
	c := counts{ready: got.Up(), wanted: want.Active()}
	for _, m := range got.Running() {
		if m.Pod != nil && !got.Outdated(m) && want.Set.Drift == plan.None {
			c.updated++
		}
	}
	if last, told := st.counts[want.Kind]; told && last == c {
		return
	}
	st.counts[want.Kind] = c
	st.tell(event.Event{
		Type: event.Progress, Component: string(want.Kind),
		Ready: &c.ready, Updated: &c.updated, Wanted: &c.wanted,
	})
}

func (st *Story) waiting(g plan.Gate, since time.Time) event.Event {
	e := event.Event{
		Type: event.Waiting, Component: string(g.Component), Member: g.Member,
		Reason: string(g.Reason), Object: g.Object, Message: g.Want, Observed: g.Observed, Remedy: g.Remedy.In(st.context), Source: event.FromKubernetes,
	}
	if g.Source == plan.FromDatabase {
		e.Source = event.FromDatabase
	}
	if g.Blocked {
		e.Type = event.Blocked
	}
	if g.Left.Unit != "" {
		e.Left, e.Unit = &g.Left.Number, string(g.Left.Unit)
	}
	if !g.Since.IsZero() {
		since = g.Since
	}
	e.Since = &since
	if !g.Deadline.IsZero() {
		e.Deadline = &g.Deadline
	}
	return e
}

// Started tells that a step begins; the function it returns tells the end.
func (st *Story) Started(step plan.Step) func(error) {
	kind, member := step.Target()
	e := event.Event{Component: string(kind), Member: member, Action: plan.Action(step), Step: step.String()}
	begun := st.now()
	e.Type = event.Started
	st.tell(e)
	return func(err error) {
		e.Type, e.Seconds = event.Finished, st.now().Sub(begun).Seconds()
		if err != nil {
			e.Type, e.Error = event.Failed, remedy.Text(err, st.context)
		}
		st.tell(e)
	}
}

// Failed tells that the cluster could not be looked at, and that it is tried
// again. A step that fails tells so itself.
func (st *Story) Failed(err error) {
	if !stepFailed(err) {
		st.tell(event.Event{Type: event.Failed, Step: "look at the cluster", Error: remedy.Text(err, st.context)})
	}
}

// Notice tells the user something by the way, and what can be done about it.
func (st *Story) Notice(text string, actions ...remedy.Action) {
	st.tell(event.Event{Type: event.Notice, Message: text, Remedy: remedy.Remedy(actions).In(st.context)})
}

// Shortfall tells of a step of upkeep that failed. Where a permission is missing
// it is missing for all steps of the kind, and told of once.
func (st *Story) Shortfall(step plan.Step, err error) {
	kind, member := step.Target()
	e := event.Event{
		Component: string(kind), Member: member,
		Message: fmt.Sprintf("could not %s: %v", step, err),
		Remedy:  []remedy.Advice{{Text: "it will be tried again; nothing else waits for it"}},
	}
	about := step.String()
	var status *apierrors.StatusError
	if apierrors.IsForbidden(err) && errors.As(err, &status) && status.ErrStatus.Details != nil {
		about = fmt.Sprintf("%T of %s", step, status.ErrStatus.Details.Kind)
		e.Component, e.Member = "", ""
		e.Remedy = []remedy.Advice{{Text: "get the permission to do so; nothing else waits for it"}}
	}
	st.once(about, e)
}

// HeldBack tells that a step is not taken because another one failed, once.
func (st *Story) HeldBack(step, by plan.Step) {
	kind, member := step.Target()
	st.once(step.String()+" after "+by.String(), event.Event{
		Component: string(kind), Member: member,
		Message: fmt.Sprintf("%q is held back, since %q failed, which comes before it", step, by),
	})
}

// once tells a notice if nothing was told about the same before.
func (st *Story) once(about string, e event.Event) {
	if st.aside[about] {
		return
	}
	st.aside[about] = true
	e.Type = event.Notice
	st.tell(e)
}

// Done tells the end, and before it what somebody else did in the database, which
// this run has left as it is.
func (st *Story) Done(outcome string, code int, took time.Duration, err error) {
	for _, f := range st.found {
		if f.Member == "" {
			continue
		}
		st.tell(event.Event{
			Type: event.Notice, Component: string(f.Component), Member: f.Member, Message: f.Text, Remedy: f.Remedy.In(st.context),
		})
	}
	e := event.Event{Type: event.Done, Outcome: outcome, ExitCode: &code, Seconds: took.Seconds()}
	if err != nil {
		e.Error = remedy.Text(err, st.context)
	}
	st.tell(e)
	st.planned, st.gates, st.found = false, nil, nil
	clear(st.counts)
}

func (st *Story) tell(e event.Event) {
	e.APIVersion, e.Time = event.Version, st.now().UTC()
	e.Namespace, e.Cluster = st.namespace, st.cluster
	st.reporter.Report(e)
}

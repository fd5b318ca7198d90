package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/denial"
)

// Progress reports each turn as events. It remembers what was reported, so that each change is reported once. No
// decision depends on that memory.
type Progress struct {
	namespace, cluster string
	context            string // the kubeconfig context, for commands that are shown
	request            string // what the command was asked for
	first              sync.Once
	now                func() time.Time
	reporter           Reporter

	// endless: reports begin when there is something to do, end when the cluster
	// has converged, and can begin again.
	endless bool
	// last: a failure in this turn ends the run.
	last    bool
	planned bool
	gates   []gateSeen
	counts  map[topology.Kind]counts
	noticed map[string]bool  // what a notice was sent about
	found   []desired.Notice // the findings of the last turn
}

type gateSeen struct {
	gate  plan.Gate
	since time.Time
}

// find returns the gate with the key of g. What is observed at it may differ.
func find(gates []gateSeen, g plan.Gate) (gateSeen, bool) {
	for _, s := range gates {
		if s.gate.Key() == g.Key() {
			return s, true
		}
	}
	return gateSeen{}, false
}

type counts struct{ ready, unknown, updated, wanted int }

// NewProgress returns a Progress of one cluster for one reporter.
func NewProgress(namespace, cluster string, now func() time.Time, r Reporter) *Progress {
	return &Progress{
		namespace: namespace, cluster: cluster, now: now, reporter: r,
		counts: map[topology.Kind]counts{}, noticed: map[string]bool{},
	}
}

// In sets the kubeconfig context that the commands of remedies name.
func (st *Progress) In(context string) *Progress {
	st.context = context
	return st
}

// For sets what the command was asked for, which the first event says.
func (st *Progress) For(request string) *Progress {
	st.request = request
	return st
}

// Endless is for a daemon: nothing is reported while a cluster stays converged.
func (st *Progress) Endless() *Progress {
	st.endless = true
	return st
}

// Decided reports what a turn decided: gates that closed, changed or opened, and
// the numbers of each component.
func (st *Progress) Decided(w desired.State, s state.Snapshot, p plan.Plan) {
	if !st.begin(p) {
		return
	}
	st.found = p.Notices
	for _, g := range w.Groups {
		st.reportNumbers(g, s.Groups[g.Kind])
	}
	st.reportFacts(s, p)
	st.reportGates(w, s, p)
}

// reportFacts reports once what no gate waits for: findings, gaps and unapplied
// configuration.
func (st *Progress) reportFacts(s state.Snapshot, p plan.Plan) {
	for _, f := range p.Notices {
		if f.Member == "" { // it may not be true any more when the run ends
			st.noticeOnce(f.Text, f.Reason, event.Event{Component: string(f.Component), Message: f.Text, Remedy: f.Remedy.In(st.context)})
		}
	}
	for _, g := range s.Gaps {
		st.noticeOnce(g.What, event.NotReadable, event.Event{Message: "cannot read " + g.What + ": " + g.Problem, Remedy: g.Remedy.In(st.context)})
	}
	if p.Outcome == plan.Converged {
		for _, u := range p.Unapplied {
			if len(u.Older) == 0 {
				continue // only status shows what is unknown
			}
			st.noticeOnce(u.String(), event.ConfigurationNotApplied, event.Event{Component: string(u.Component), Message: u.String(), Remedy: u.Remedy.In(st.context)})
		}
	}
}

// reportGates reports gates that are new, have changed, or hold now.
func (st *Progress) reportGates(w desired.State, s state.Snapshot, p plan.Plan) {
	var open []gateSeen
	for _, g := range p.Gates {
		seen, known := find(st.gates, g)
		if !known {
			seen.since = st.now()
		}
		if last := seen.gate; !known || last.Observed != g.Observed || last.Blocked != g.Blocked || last.Remedy.Line("") != g.Remedy.Line("") {
			st.send(st.waiting(g, seen.since))
		}
		open = append(open, gateSeen{gate: g, since: seen.since})
	}
	for _, seen := range st.gates {
		if _, still := find(open, seen.gate); !still {
			e := st.waiting(seen.gate, seen.since)
			e.Type, e.Message, e.Seconds = event.Passed, seen.gate.Passed(), st.now().Sub(seen.since).Seconds()
			if st.dropped(seen.gate, w, s, p) {
				e.Outcome = event.OutcomeDropped
			}
			st.send(e)
		}
	}
	st.gates = open
}

// dropped reports whether the run does not wait for a gate any more although nobody has seen that the gate holds.
// Without this rule, a run would say that leaders have left a store when PD has only stopped answering.
func (st *Progress) dropped(g plan.Gate, w desired.State, s state.Snapshot, p plan.Plan) bool {
	m, _ := s.Groups[g.Component].Member(g.Member)
	want, _ := w.Group(g.Component)
	switch {
	case p.Outcome == plan.Paused:
		return true
	case g.Reason == plan.PDServing:
		return !s.PD.Known()
	case g.Reason == plan.MemberServing:
		return !m.Up()
	case g.Reason == plan.LeadersEvicted:
		return m.Database.Presence != state.Present || m.Database.Leaders != 0
	case g.Reason == plan.CanaryPromoted:
		return want.Held || want.Set.Drift != desired.None // it goes on to its canary, or was taken back
	}
	behindPD := plan.Gate{Component: g.Component, Reason: plan.PDServing}
	_, before := find(st.gates, behindPD)
	return !before && slices.ContainsFunc(p.Gates, func(n plan.Gate) bool { return n.Key() == behindPD.Key() })
}

// begin reports once that work begins. It returns false while there is nothing to
// report.
func (st *Progress) begin(p plan.Plan) bool {
	if st.planned {
		return true
	}
	if st.endless && (p.Outcome == plan.Converged || p.Outcome == plan.Paused) {
		return false
	}
	st.planned = true
	st.send(event.Event{Type: event.Planned, Outcome: p.Outcome.String()})
	return true
}

func (st *Progress) reportNumbers(want desired.Group, got state.Group) {
	c := counts{ready: got.Up(), unknown: got.Unknown(), wanted: want.Active()}
	for _, m := range got.InSet() {
		if want.Current(got, m) {
			c.updated++
		}
	}
	if last, reported := st.counts[want.Kind]; reported && last == c {
		return
	}
	st.counts[want.Kind] = c
	st.send(event.Event{
		Type: event.Progress, Component: string(want.Kind),
		Ready: &c.ready, Unknown: c.unknown, Updated: &c.updated, Wanted: &c.wanted,
	})
}

func (st *Progress) waiting(g plan.Gate, since time.Time) event.Event {
	e := event.Event{
		Type: event.Waiting, Component: string(g.Component), Member: g.Member,
		Reason: string(g.Reason), Object: g.Object, Message: g.String(), Observed: g.Observed, Remedy: g.Remedy.In(st.context), Source: event.FromKubernetes,
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

// Started reports that a step begins; the function that it returns reports its end.
func (st *Progress) Started(s step.Step) func(error) {
	kind, member := s.Target()
	e := event.Event{Component: string(kind), Member: member, Action: s.Action(), Step: s.String()}
	begun := st.now()
	e.Type = event.Started
	st.send(e)
	return func(err error) {
		e.Type, e.Seconds = event.Finished, st.now().Sub(begun).Seconds()
		if err != nil {
			e.Type, e.Error = event.Failed, remedy.Text(err, st.context)
			e.Final = !st.endless && (st.last || IsFinal(err))
		}
		st.send(e)
	}
}

// Failed reports that the cluster could not be observed. A step that fails has its
// own event.
func (st *Progress) Failed(err error) {
	if !stepFailed(err) {
		st.send(event.Event{Type: event.Failed, Step: "observe the cluster", Error: remedy.Text(err, st.context)})
	}
}

// Notice reports a text that is not about a step or a gate, with what can be done about it.
func (st *Progress) Notice(reason event.NoticeReason, text string, actions ...remedy.Action) {
	st.send(event.Event{Type: event.Notice, Reason: string(reason), Message: text, Remedy: remedy.Remedy(actions).In(st.context)})
}

// UpkeepFailed reports a step of upkeep that failed. A missing permission is
// reported once, since all steps of the kind need it.
func (st *Progress) UpkeepFailed(s step.Step, err error) {
	kind, member := s.Target()
	e := event.Event{
		Component: string(kind), Member: member,
		Message: fmt.Sprintf("could not %s: %v", s, err),
		Remedy:  []remedy.Advice{{Text: "it will be tried again; nothing else waits for it"}},
	}
	about := s.String()
	var status *apierrors.StatusError
	if denial.Missing(err) && errors.As(err, &status) && status.ErrStatus.Details != nil {
		about = fmt.Sprintf("%T of %s", s, status.ErrStatus.Details.Kind)
		e.Component, e.Member = "", ""
		e.Message = fmt.Sprintf("could not %s: not permitted for %s; nothing else waits for it", s, status.ErrStatus.Details.Kind)
		e.Remedy = nil
	}
	st.noticeOnce(about, event.UpkeepFailed, e)
}

// HeldBack reports once that a step is not taken because another one failed.
func (st *Progress) HeldBack(s, by step.Step) {
	kind, member := s.Target()
	st.noticeOnce(s.String()+" after "+by.String(), event.StepHeldBack, event.Event{
		Component: string(kind), Member: member,
		Message: fmt.Sprintf("%q is held back, since %q failed, which comes before it", s, by),
	})
}

// noticeOnce reports a notice if there was none about the same before.
func (st *Progress) noticeOnce(about string, reason event.NoticeReason, e event.Event) {
	if st.noticed[about] {
		return
	}
	st.noticed[about] = true
	e.Type, e.Reason = event.Notice, string(reason)
	st.send(e)
}

// Done reports the end of the run. Before that it reports what another user or tool did in the database, which this
// run has not changed.
func (st *Progress) Done(outcome string, code int, took time.Duration, err error) {
	for _, f := range st.found {
		if f.Member == "" {
			continue
		}
		st.send(event.Event{
			Type: event.Notice, Reason: string(f.Reason), Component: string(f.Component), Member: f.Member,
			Message: f.Text, Remedy: f.Remedy.In(st.context),
		})
	}
	e := event.Event{Type: event.Done, Outcome: outcome, ExitCode: &code, Seconds: took.Seconds()}
	if err != nil {
		e.Error = remedy.Text(err, st.context)
	}
	st.send(e)
	st.planned, st.gates, st.found = false, nil, nil
	clear(st.counts)
}

func (st *Progress) send(e event.Event) {
	e.APIVersion, e.Time = event.Version, st.now().UTC()
	e.Namespace, e.Cluster = st.namespace, st.cluster
	st.first.Do(func() { e.Request = st.request })
	st.reporter.Report(e)
}

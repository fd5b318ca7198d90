package history

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Builder makes runs of events. It keeps what reports need, and not the events: a run of hours has
// tens of thousands.
type Builder struct {
	runs []*building
	last map[target]*building
}

// target is what a run drives.
type target struct{ context, namespace, cluster string }

// building is a run whose events are not all there.
type building struct {
	Run
	planned, done bool
	waits         map[event.Gate]int // of open waits, their place in Waits
}

// Add takes an event into account. The events of a cluster come in the order in which they happened;
// those of several clusters may be mixed.
func (b *Builder) Add(e event.Event) {
	t := target{e.Context, e.Namespace, e.Cluster}
	r := b.last[t]
	if r == nil || r.done || e.Type == event.Planned && r.planned {
		r = &building{waits: map[event.Gate]int{}}
		r.Context, r.Namespace, r.Cluster, r.Began, r.Ended = e.Context, e.Namespace, e.Cluster, e.Time, e.Time
		if b.last == nil {
			b.last = map[target]*building{}
		}
		b.last[t] = r
		b.runs = append(b.runs, r)
	}
	r.add(e)
}

// Runs returns all runs, in the order in which they began.
func (b *Builder) Runs() []Run {
	var all []Run
	for _, r := range b.runs {
		all = append(all, r.finishedRun())
	}
	return all
}

func (r *building) add(e event.Event) {
	if d := e.Time.Sub(r.Ended); d > 0 {
		r.Spent.Add(d, r.stepping(), r.sources())
		r.Ended = e.Time
	}
	if r.Request == "" {
		r.Request = e.Request
	}
	switch e.Type {
	case event.Planned:
		r.planned = true
	case event.Started:
		r.begin(e)
	case event.Finished, event.Failed:
		r.end(e)
	case event.Waiting, event.Blocked:
		r.wait(e)
	case event.Passed:
		r.pass(e)
	case event.Progress:
		r.count(e)
	case event.Notice:
		r.Notices = append(r.Notices, e)
	case event.Done:
		r.done = true
		if begun := e.Time.Add(-seconds(e)); begun.Before(r.Began) { // before there was anything to report
			r.Spent.Add(r.Began.Sub(begun), false, nil)
			r.Began = begun
		}
		r.Outcome, r.Error, r.Remedy = e.Outcome, e.Error, e.Remedy
		if e.ExitCode != nil {
			r.ExitCode = *e.ExitCode
		}
	}
}

// finishedRun returns the run as it is if there are no more events.
func (r *building) finishedRun() Run {
	run := r.Run
	run.Steps, run.Waits = slices.Clone(r.Steps), slices.Clone(r.Waits)
	for i := range run.Steps {
		if run.Steps[i].Result == Begun {
			run.Steps[i].Ended = run.Ended
		}
	}
	for i := range run.Waits {
		w := &run.Waits[i]
		if w.ended {
			continue
		}
		w.Ended = run.Ended
		if run.Outcome == event.OutcomeConverged {
			w.Status = Passed
		}
	}
	return run
}

func (r *building) stepping() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Result == Begun })
}

// sources returns where what is awaited is read from.
func (r *building) sources() []string {
	var all []string
	for _, i := range r.waits {
		all = append(all, r.Waits[i].Source)
	}
	return all
}

// step returns the latest step of an event's target and text, nil if there was none.
func (r *building) step(e event.Event) *Step {
	for i := len(r.Steps) - 1; i >= 0; i-- {
		if s := &r.Steps[i]; s.Component == e.Component && s.Member == e.Member && s.Text == e.Step {
			return s
		}
	}
	return nil
}

func (r *building) begin(e event.Event) {
	if s := r.step(e); s != nil && s.Result != Taken && e.Time.Sub(s.Ended) <= recent {
		s.Result = Begun
		s.Attempts++
		return
	}
	r.Steps = append(r.Steps, Step{
		Component: e.Component, Member: e.Member, Action: e.Action, Text: e.Step, Began: e.Time, Ended: e.Time, Result: Begun, Attempts: 1,
	})
}

// end ends a step. The failure to observe the cluster has no beginning.
func (r *building) end(e event.Event) {
	s := r.step(e)
	if s == nil || s.Result != Begun {
		r.begin(e)
		s = r.step(e)
	}
	s.Result, s.Ended = Taken, e.Time
	if e.Type == event.Failed {
		s.Result, s.Error = Failed, e.Error
	}
}

func (r *building) wait(e event.Event) {
	i, known := r.waits[e.Gate()]
	if !known {
		i = len(r.Waits)
		r.waits[e.Gate()] = i
		r.Waits = append(r.Waits, Wait{Gate: e.Gate(), Began: e.Time, reported: e.Time, First: e.Left})
	}
	w := &r.Waits[i]
	w.Message, w.Source, w.Remedy, w.Ended, w.Status = e.Message, e.Source, e.Remedy, e.Time, Waiting
	if e.Type == event.Blocked {
		w.Status = Blocked
	}
	if e.Since != nil && e.Since.Before(w.Began) {
		w.Began = *e.Since
	}
	if e.Left != nil {
		w.Last, w.Unit = e.Left, e.Unit
	}
}

// pass ends a wait. One that was never reported as waiting is one too short to be seen.
func (r *building) pass(e event.Event) {
	i, known := r.waits[e.Gate()]
	if !known {
		return
	}
	delete(r.waits, e.Gate())
	w := &r.Waits[i]
	w.Status, w.Ended, w.ended = Passed, e.Time, true
	if e.Outcome == event.OutcomeDropped {
		w.Status = Dropped
	}
}

func (r *building) count(e event.Event) {
	i, known := slices.BinarySearchFunc(r.Components, e.Component, func(n Numbers, component string) int {
		return compareComponents(n.Component, component)
	})
	if !known {
		r.Components = slices.Insert(r.Components, i, Numbers{Component: e.Component})
	}
	r.Components[i].Take(e)
}

// rank is a component's place in the order of dependency. The cluster as a whole, which has no
// component, is before them; those that this version does not know come last.
func rank(component string) int {
	if component == "" {
		return -1
	}
	if i := slices.Index(topology.Kinds(), topology.Kind(component)); i >= 0 {
		return i
	}
	return len(topology.Kinds())
}

func seconds(e event.Event) time.Duration { return time.Duration(e.Seconds * float64(time.Second)) }

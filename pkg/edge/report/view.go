package report

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/event"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/history"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// view is the state that follows from the events so far. All formats show the view and keep no state of their own,
// so they cannot differ.
type view struct {
	context, namespace, cluster, action string

	start, last time.Time // of the report, and of the latest event
	rows        []row     // in dependency order
	steps       []step    // under way
	gates       []gate    // closed: those for a person first, then by age
	failures    []failure // not overcome yet
	finished    int       // steps
	spent       history.Spent
	end         *event.Event // done
}

// row is a component's numbers.
type row struct{ history.Numbers }

func (r row) settled() bool { return r.Ready == r.Wanted && r.Updated == r.Wanted }

// step is a step under way.
type step struct {
	component, member, text string
	since                   time.Time
}

// gate is a wait. Its event is the latest event about the wait.
type gate struct {
	event event.Event
	since time.Time
	left  []sample // what was left in the last minute, where that is a number
	more  int      // how many other members wait for the same
}

// sample is how much was left until a gate opens, at a time.
type sample struct {
	at   time.Time
	left int64
}

// sampled is how far back the rate of a gate is measured.
const sampled = time.Minute

func (g gate) blocked() bool { return g.event.Type == event.Blocked }

// failure is a step that failed and has not succeeded since.
type failure struct {
	step
	err    string
	times  int
	last   time.Time
	unread bool // it was the cluster that could not be observed
}

// forgotten is after how long a failure that did not happen again is not shown any more. No event reports that the
// failed step is not wanted any more.
const forgotten = 2 * time.Minute

func newView(o Options) view {
	return view{
		context: o.Context, namespace: o.Namespace, cluster: o.Cluster, action: o.Action,
		start: o.Now(),
	}
}

// fold takes an event into account.
func (v *view) fold(e event.Event) {
	v.clock(e.Time)
	v.forget(e.Time)
	if v.cluster == "" {
		v.context, v.namespace, v.cluster = e.Context, e.Namespace, e.Cluster
	}
	switch e.Type {
	case event.Started:
		v.begin(e)
	case event.Finished:
		v.finished++
		v.leave(e)
		v.forgive(func(f failure) bool { return f.is(e) })
	case event.Failed:
		v.leave(e)
		v.fail(e)
	case event.Waiting, event.Blocked:
		v.shut(e)
		v.observed()
	case event.Passed:
		v.open(e)
		v.observed()
	case event.Progress:
		v.count(e)
		v.observed()
	case event.Done:
		v.end = &e
	}
}

// clock adds the time since the last event to the activity that was under way. Waits overlap; each
// moment counts once, so that the parts add up to the whole.
func (v *view) clock(now time.Time) {
	if v.last.IsZero() {
		if now.Before(v.start) {
			v.start = now
		}
		v.last = v.start
	}
	if d := now.Sub(v.last); d > 0 {
		v.spent.Add(d, len(v.steps) > 0, v.sources())
		v.last = now
	}
}

// quiet returns how long ago the last event was.
func (v *view) quiet(now time.Time) time.Duration {
	if v.last.IsZero() {
		return now.Sub(v.start)
	}
	return now.Sub(v.last)
}

// sources returns where what is awaited is read from.
func (v *view) sources() []string {
	var all []string
	for _, g := range v.gates {
		all = append(all, g.event.Source)
	}
	return all
}

func (s step) is(e event.Event) bool {
	return s.component == e.Component && s.member == e.Member && s.text == e.Step
}

func (v *view) begin(e event.Event) {
	v.leave(e)
	v.steps = append(v.steps, step{e.Component, e.Member, e.Step, e.Time})
	// Another step for the same target: the failed one was decided against.
	v.forgive(func(f failure) bool {
		return f.component == e.Component && f.member == e.Member && f.text != e.Step
	})
}

func (v *view) leave(e event.Event) {
	v.steps = slices.DeleteFunc(v.steps, func(s step) bool { return s.is(e) })
}

func (v *view) fail(e event.Event) {
	for i := range v.failures {
		if f := &v.failures[i]; f.is(e) {
			f.err, f.last = e.Error, e.Time
			f.times++
			return
		}
	}
	v.failures = append(v.failures, failure{
		step:  step{e.Component, e.Member, e.Step, e.Time},
		err:   e.Error,
		times: 1,
		last:  e.Time, unread: e.Action == "",
	})
}

// place returns the index of the row of a component, -1 for none.
func (v *view) place(component string) int {
	return slices.IndexFunc(v.rows, func(r row) bool { return r.Component == component })
}

// unread returns since when the cluster could not be observed, zero if it can be.
func (v *view) unread() time.Time {
	for _, f := range v.failures {
		if f.unread {
			return f.since
		}
	}
	return time.Time{}
}

// observed takes note of an event that comes of an observation: the cluster can be observed again.
func (v *view) observed() { v.forgive(func(f failure) bool { return f.unread }) }

// forget leaves out failures that have not happened again for long.
func (v *view) forget(now time.Time) {
	v.forgive(func(f failure) bool { return now.Sub(f.last) > forgotten })
}

func (v *view) forgive(overcome func(failure) bool) {
	v.failures = slices.DeleteFunc(v.failures, overcome)
}

// failing returns the failure of an event's step, nil if it has not failed before.
func (v *view) failing(e event.Event) *failure {
	for i := range v.failures {
		if v.failures[i].is(e) {
			return &v.failures[i]
		}
	}
	return nil
}

// gate finds the gate that an event is about.
func (v *view) gate(e event.Event) *gate {
	for i := range v.gates {
		g := &v.gates[i].event
		if g.Gate() == e.Gate() {
			return &v.gates[i]
		}
	}
	return nil
}

func (v *view) shut(e event.Event) {
	g := v.gate(e)
	if g == nil {
		v.gates = append(v.gates, gate{since: e.Time})
		g = &v.gates[len(v.gates)-1]
	}
	g.event = e
	g.sample(e)
	if e.Since != nil {
		g.since = *e.Since
	}
	slices.SortStableFunc(v.gates, func(a, b gate) int {
		if a.blocked() != b.blocked() {
			if a.blocked() {
				return -1
			}
			return 1
		}
		return a.since.Compare(b.since)
	})
}

// sample remembers how much is left, for as long as that counts for the rate.
func (g *gate) sample(e event.Event) {
	if e.Left == nil {
		g.left = nil
		return
	}
	for len(g.left) > 1 && e.Time.Sub(g.left[1].at) > sampled {
		g.left = g.left[1:]
	}
	if n := len(g.left); n == 0 || g.left[n-1].left != *e.Left {
		g.left = append(g.left, sample{e.Time, *e.Left})
	}
}

// rate returns how much of a gate goes per second, 0 where that is not known. It also returns for how long nothing
// has gone if that is long.
func (g gate) rate(now time.Time) (perSecond float64, still time.Duration) {
	if len(g.left) == 0 {
		return 0, 0
	}
	first, last := g.left[0], g.left[len(g.left)-1]
	if d := now.Sub(last.at); d > sampled {
		return 0, d
	}
	return float64(max(first.left-last.left, 0)) / max(now.Sub(first.at).Seconds(), 1), 0
}

// alike returns the gates, with members that wait for the same as one: 300 stores that start take one line.
func (v *view) alike() []gate {
	type key struct {
		component, reason, state string
		blocked                  bool
	}
	var all []gate
	at := map[key]int{}
	for _, g := range v.gates {
		k := key{g.event.Component, g.event.Reason, g.state(), g.blocked()}
		if i, known := at[k]; known && g.event.Member != "" {
			all[i].more++
			continue
		}
		at[k] = len(all)
		all = append(all, g)
	}
	return all
}

func (v *view) open(e event.Event) {
	v.gates = slices.DeleteFunc(v.gates, func(g gate) bool {
		return g.event.Gate() == e.Gate()
	})
}

func (v *view) count(e event.Event) {
	i := v.place(e.Component)
	if i < 0 {
		if i = slices.IndexFunc(v.rows, func(r row) bool { return rank(r.Component) > rank(e.Component) }); i < 0 {
			i = len(v.rows)
		}
		v.rows = slices.Insert(v.rows, i, row{history.Numbers{Component: e.Component}})
	}
	v.rows[i].Take(e)
}

// rank is a component's place in the order of dependency; unknown ones come last.
func rank(component string) int {
	if i := slices.Index(topology.Kinds(), topology.Kind(component)); i >= 0 {
		return i
	}
	return len(topology.Kinds())
}

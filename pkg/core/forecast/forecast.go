// Package forecast says what a run does from now on if nothing goes wrong. It calls plan.Decide again and
// again, each time on the snapshot as it is after the steps before.
//
// What follows from a step is modelled here, as far as decisions depend on it. A restarted pod comes
// back, leaders leave a store, regions move. Decisions themselves are those of the engine, so a forecast
// cannot be of another order than a run in which nothing goes wrong. Neither the cluster nor the input is
// changed.
package forecast

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// Forecast is what a run does if nothing goes wrong.
type Forecast struct {
	// First is what is decided now.
	First plan.Plan
	Steps []Step // all that follow, in order; in a paused cluster after the pause
	// Last is what is decided after them: the cluster has converged, or the gates keep it from that.
	Last plan.Plan
	// Cut: there are more steps than are looked at.
	Cut    bool
	Totals Totals
}

// Step is a step of a run, and what it is for.
type Step struct {
	step.Step
	Phase Phase
	// Turn counts the decisions. Steps of the same one are taken at the same time.
	Turn int
	// Waits are what the component waits for before its next step.
	Waits []Wait
}

// Wait is a gate that is closed for a while.
type Wait struct {
	Reason plan.Reason
	Want   string
}

// Phase is the part of a component's change that a step belongs to.
type Phase string

// The phases.
const (
	Preparation Phase = "prepare"
	Creation    Phase = "create"
	Suspension  Phase = "suspend"
	Failover    Phase = "failover"
	Renewal     Phase = "new data"
	ScaleOut    Phase = "scale out"
	ScaleIn     Phase = "scale in"
	Rollout     Phase = "rollout"
	Growth      Phase = "volumes"
	Cleanup     Phase = "clean up"
)

// turnTime is how long a turn takes. Real ones differ: no decision here depends on more than their order.
const turnTime = 5 * time.Second

// Of returns the forecast for a cluster. The policy is the policy of the run.
func Of(profiles []plan.Profile, policy plan.Policy, want desired.State, now state.Snapshot) Forecast {
	w := newWorld(profiles, policy, want, now)
	var f Forecast
	w.run(&f)
	f.Totals = total(f.Steps, w, now)
	f.Totals.Starting -= savedByBatches(f.Steps, policy, profiles, want, now)
	return f
}

// run takes turns until nothing more happens.
func (w *world) run(f *Forecast) {
	var stalled *plan.Plan // what was waited for before time was moved on
	for turn := range w.mostTurns() {
		w.policy.Waits = w.waits
		at := w.snap.At
		p := plan.Decide(w.profiles, w.policy, w.want, w.snap)
		w.waits = w.waits.After(p, w.snap.At)
		if turn == 0 {
			f.First = p
		}
		f.Last = p
		if p.Outcome == plan.Paused {
			endPause(w, step.EndPause{}) // what follows is done after the pause
			continue
		}
		f.await(p)
		for _, s := range p.Steps {
			f.take(w, s, turn)
		}
		w.happen(slices.ContainsFunc(p.Steps, func(s step.Step) bool { return !s.Quiet() }))
		if len(p.Steps) > 0 || w.changed {
			stalled, w.idle = nil, 0
			continue
		}
		if stalled == nil {
			stalled = &p
		}
		if p.Outcome != plan.Wait || !w.skip(p, at) {
			f.Last = *stalled // time alone has not helped
			return
		}
	}
	f.Cut = true
}

// take adds a step, and lets it take effect.
func (f *Forecast) take(w *world, s step.Step, turn int) {
	e, known := effects[s.Action()]
	if !known {
		panic("forecast: no such step: " + s.Action())
	}
	if !s.Quiet() {
		f.Steps = append(f.Steps, Step{Step: s, Phase: e.phase(w, s), Turn: turn})
	}
	e.do(w, s)
}

// await adds what is waited for to the last steps of the components. A gate that the next step is for is
// not waited for before that step.
func (f *Forecast) await(p plan.Plan) {
	for _, g := range p.Gates {
		next := slices.ContainsFunc(p.Steps, func(s step.Step) bool {
			k, member := s.Target()
			return k == g.Component && member == g.Member && !s.Quiet()
		})
		if next || g.Approval || slices.Contains(queued, g.Reason) {
			continue
		}
		for i := len(f.Steps) - 1; i >= 0; i-- {
			s := &f.Steps[i]
			if kind, _ := s.Target(); kind != g.Component {
				continue
			}
			if w := (Wait{g.Reason, g.Want}); !slices.Contains(s.Waits, w) {
				s.Waits = append(s.Waits, w)
			}
			break
		}
	}
}

// queued are gates that only say that another step comes before.
var queued = []plan.Reason{plan.RolloutQueued, plan.SuspendQueued, plan.StatefulSetRecreated}

// mostTurns bounds the forecast: a restart of a member takes a dozen turns.
func (w *world) mostTurns() int {
	n := 0
	for _, g := range w.want.Groups {
		n += max(g.Size(), len(w.snap.Groups[g.Kind].Members))
	}
	return 200 + 60*n
}

// skip lets a minute pass, in which PD hears of all stores. It then moves the time on to when the time
// changes the decision. skip reports whether there is such a time. Each gate is waited for once: without
// progress it would be waited for again and again.
func (w *world) skip(p plan.Plan, decided time.Time) bool {
	if w.idle++; w.idle < int(time.Minute/turnTime) {
		return true
	}
	var next time.Time
	for _, g := range p.Gates {
		key := g.Key()
		if g.Blocked || !g.Deadline.After(decided) || w.skipped[key] {
			continue
		}
		if next.IsZero() || g.Deadline.Before(next) {
			next = g.Deadline
		}
	}
	if next.IsZero() {
		return false
	}
	for _, g := range p.Gates {
		if g.Deadline.Equal(next) {
			w.skipped[g.Key()] = true
		}
	}
	if next.After(w.snap.At) {
		w.snap.At = next
	}
	return true
}

// Package plan decides. Decide compares what is wanted with what was observed and says what to do
// next and what to wait for, as values that print themselves. It does nothing, knows no clock and
// remembers nothing. After a crash, an interrupt or a change of driver the same observation gives
// the same answer. So none of these can leave a cluster half-way.
//
// One algorithm serves all components. What they differ in is data, a Profile
// each, in package component.
package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Outcome says in a word what a plan means for a run.
type Outcome int

const (
	// Converged: the cluster is what the user wants. There is nothing to do
	// and nothing to wait for.
	Converged Outcome = iota
	// Act: there is a step to take now.
	Act
	// Wait: a gate must hold first, and may do so by itself.
	Wait
	// Blocked: nothing will happen unless a person does something.
	Blocked
	// Paused: the user has paused the cluster.
	Paused
	// Canary: a rollout has restarted as many members as the user wants to watch first, and waits to be
	// promoted.
	Canary
)

func (o Outcome) String() string {
	return [...]string{"converged", "act", "wait", "blocked", "paused", "canary"}[o]
}

// Source is where an awaited fact is read from. Kubernetes reports changes by itself; the
// others have to be asked again.
type Source int

// The places a fact is read from.
const (
	FromKubernetes Source = iota
	FromDatabase
)

// Gate is something that must hold before the plan can go on.
type Gate struct {
	Component topology.Kind
	Member    string // the pod's name; "" for the component as a whole
	// Object is the name of the claim or the Secret that the gate is about, "" for most gates.
	// Several gates can wait for the same with different objects.
	Object   string
	Reason   Reason
	Want     string // what must hold, e.g. "leaders evicted"
	Observed string // the observed number or state, e.g. "340 leaders left"
	// Left is how much is left until the gate holds, where that is a number. Progress, rate and
	// remaining time are computed from it.
	Left Quantity
	// Since is when the wait began, if the cluster has that time, else zero. Deadline is when the
	// wait ends by itself, zero when that is not known. Without a Deadline the gate is Blocked when
	// it has made no progress for long.
	Since, Deadline time.Time
	Remedy          remedy.Remedy // what a person can do about it
	Source          Source
	// Blocked: waiting will not help.
	Blocked bool
	// Approval: nothing is wrong, and a person decides when it opens. The wait has no end.
	Approval bool
	// waitsForOthers: the gate waits for an earlier component, or for a member that is down. Their own gates
	// say whether a person has to help.
	waitsForOthers bool
	// awaits is a component whose rollout may be what is waited for; "" for none.
	awaits topology.Kind
	// polled: no watch of this cluster reports the fact.
	polled bool
	// resolves: what happens at the deadline needs no help from a person.
	resolves bool
	// endless: the user has asked to wait for it without an end.
	endless bool
	// patience is how long a gate without a Deadline may make no progress before it is Blocked.
	// Zero means as long as usual. See Waits.
	patience time.Duration
}

// Quantity is a number of something; the zero value is no number.
type Quantity struct {
	Number int64
	Unit   Unit
}

// Unit is what a Quantity counts.
type Unit string

// The units of what is waited for.
const (
	Leaders Unit = "leaders" // leaders of regions
	Regions Unit = "regions"
	Tables  Unit = "tables" // of changefeeds
	Bytes   Unit = "bytes"
	Seconds Unit = "seconds" // of binlog that a drainer has not read
)

// GateKey identifies a gate from one turn to the next. What is shown of it may change.
type GateKey struct {
	Component      topology.Kind
	Member, Object string
	Reason         Reason
}

// Key returns what identifies the gate.
func (g Gate) Key() GateKey { return GateKey{g.Component, g.Member, g.Object, g.Reason} }

// Opens reports whether the gate may open by itself.
func (g Gate) Opens() bool { return !g.Blocked && !g.Approval && !g.waitsForOthers }

// Plan is what to do now. Steps come in the order in which they must be taken. At most one step is
// disruptive, and it is the last.
type Plan struct {
	Outcome Outcome
	Steps   []step.Step
	Gates   []Gate
	// Upkeep are small corrections, taken in any order and all at once. They are no part of
	// the outcome: nothing waits for them.
	Upkeep []step.Step
	// Notices are changes by others. They are only reported.
	Notices []desired.Notice
	// Pause says by whom the cluster is paused, with the outcome Paused.
	Pause topology.Pause
	// Unapplied is no part of the outcome either. It is configuration that takes effect only at the
	// next restart, which is not asked for.
	Unapplied []Unapplied
	// locked says of each step whether it needs the lock that all parts share.
	locked []bool
}

// MustBeLive reports whether the plan has to be decided again on a live observation before it is carried out. A change
// between the observation and a disruptive step can make a correct decision wrong. An eviction does no harm that
// lasts. But a cache that is too old may not show an eviction that is under way. The engine would then begin another
// eviction in each turn. A pause of DDL that is decided on such a cache may be begun after the rollout.
func (p Plan) MustBeLive() bool {
	return slices.ContainsFunc(p.Steps, func(s step.Step) bool {
		switch s.(type) {
		case step.EvictLeaders, step.BeginDDLPause:
			return true
		}
		return s.Disruptive()
	})
}

// Polls reports whether the plan waits for a fact that must be polled, since no watch reports it.
func (p Plan) Polls() bool {
	for _, g := range p.Gates {
		if g.Source == FromDatabase || g.polled {
			return true
		}
	}
	return false
}

// Deadline is the next moment at which time alone changes the decision; zero
// when there is none. That of a gate that is Blocked has passed and changes nothing.
func (p Plan) Deadline() time.Time {
	next := p.Pause.Until
	for _, g := range p.Gates {
		if !g.Deadline.IsZero() && !g.Blocked && (next.IsZero() || g.Deadline.Before(next)) {
			next = g.Deadline
		}
	}
	return next
}

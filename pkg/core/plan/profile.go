package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Profile is what makes a component different from the others, as data. A
// component that seems to need a branch in this package lacks a field here.
type Profile struct {
	Kind topology.Kind
	// Needs must hold before the component is created, scaled or restarted.
	Needs []Need
	// Floor returns the lowest number of replicas to which the component can be scaled in now. It
	// also returns the reason, and what a person can do about it. Floor is nil when there is no
	// such number.
	Floor func(Scope) (least int, why string, help remedy.Remedy)
	// Standing must hold of each wanted member that is not about to be restarted. It ends what a
	// restart or a cancelled removal began.
	Standing []Hook
	// BeforeRestart must hold of a healthy member before its pod is replaced.
	BeforeRestart []Hook
	// Together is nil for a component whose members always restart one at a time.
	Together *Together
	// BeforeHold must hold of a member that waits for the promotion of a canary, before the rollout counts as held.
	// What is watched then are members that serve as before.
	BeforeHold []Hook
	// BeforeRemove must hold of a member before its ordinal is removed.
	BeforeRemove []Hook
	// BeforeRenew must hold of a wanted member that the database has removed, before its claims and
	// its pod are recreated. It is nil where that does not help a member.
	BeforeRenew []Hook
	// BeforeNext must hold of a member that has new volumes because a user has named it, before the next member begins to
	// leave. It is asked only where the user says so.
	BeforeNext []Hook
	// BeforeSuspend must hold of each member before the StatefulSet is deleted with all of its
	// pods. What only PD can undo is undone while PD runs.
	BeforeSuspend []Hook
	// Abandoned is a goal that does not hold for a wanted member that others are removing from the
	// database. Such a member does not count as one that serves, and it is left alone. The hook
	// says what happens to it and what a person can do; nil where others cannot remove members.
	Abandoned *Hook
	// Failover is how members that are lost are replaced; nil when they are not.
	Failover *Failover
}

// Failover says when a member is lost and what happens then.
type Failover struct {
	// Period is how long a member has to be down before it is given up.
	Period func(Scope) time.Duration
	// Spare gives the reason not to give a member up, "" when there is none.
	Spare func(sc Scope, m state.Member, now bool) string
	// RemoveFromDatabase are goals for a member that was given up, so that it can come back
	// with new data.
	RemoveFromDatabase []Hook
	// Keeps says that the data of a member that was given up is kept, in case the member comes
	// back. The data stays until the user discards it, and the replacement until the user asks for
	// the recovery.
	Keeps bool
}

// Need is something that another component must provide.
type Need struct {
	Reason   Reason
	Want     string
	Holds    func(Scope) bool
	Observed func(Scope) string
	// Refuse returns the reason why a person has to provide it, "" where none has to.
	Refuse func(Scope) string
	// Step returns the step that provides it; nil where there is only to wait.
	Step func(Scope) step.Step
	Help func(Scope) remedy.Remedy // what a person can do
}

// lack returns what to do, and what to wait for, while a need does not hold. A need without a step
// opens when another component does something.
func (n Need) lack(sc Scope, k topology.Kind) verdict {
	g := Gate{Component: k, Reason: n.Reason, Want: n.Want, Source: FromDatabase, waitsForOthers: n.Step == nil}
	if n.Help != nil {
		g.Remedy = n.Help(sc)
	}
	if n.Refuse != nil {
		if why := n.Refuse(sc); why != "" {
			g.Observed, g.Blocked = why, true
			return wait(g)
		}
	}
	v := verdict{}
	if n.Step != nil {
		v.steps = []step.Step{n.Step(sc)}
	}
	g.Observed = n.Observed(sc)
	return v.plus(wait(g))
}

// Hook is a goal for a member: how to see that the goal is reached, and the step towards it. It
// remembers nothing, so that any later run can continue.
type Hook struct {
	Reason Reason
	Want   string // what must hold, for the user
	// Because is why the goal is there, for the user. "" where the reason of the whole list of goals says enough.
	Because string
	// Refuse returns the reason why the goal must not be pursued now. A hook with nothing else is a
	// check.
	Refuse func(Scope, state.Member) string
	Done   func(Scope, state.Member) bool
	// Skip returns the reason why the goal cannot be reached now; the plan continues without it.
	// The step that follows names the reason.
	Skip func(Scope, state.Member) string
	// Awaits is a component whose rollout the goal may wait for; "" for none. That rollout is not held back.
	Awaits topology.Kind
	// Schedules: the step makes or removes a scheduler in PD. So it waits until PD has loaded the
	// schedulers that exist.
	Schedules bool
	// Step returns what to do now; nil when there is only to wait.
	Step     func(Scope, state.Member) step.Step
	Observed func(Scope, state.Member) string
	// Left returns how much is left until the goal is reached; nil where there is no number.
	Left func(Scope, state.Member) Quantity
	// Stuck returns the reason why waiting does not help now, "" when it may help. Such a wait gets
	// no more time than usual.
	Stuck func(Scope, state.Member) string
	// Since is when the work for the goal began, and Timeout how long it may take, if that is
	// limited. Lapse says what happens then; without Lapse the plan continues without the goal.
	Since   func(Scope, state.Member) time.Time
	Timeout func(Scope) (limit time.Duration, limited bool)
	Lapse   func(Scope) Lapse
	// Patience is how long there may be no progress where no Timeout limits the wait. After that
	// the gate is Blocked, or the plan continues without the goal. Zero means as long as usual.
	Patience time.Duration
	Remedy   remedy.Remedy
	// Help returns what a person can do where that depends on the case; where it returns none,
	// Remedy applies.
	Help func(Scope, state.Member) remedy.Remedy
}

// LeftoverMarked is the goal that a scale-in has marked a member's claims. The mark tells a later
// scale-out that their data belongs to no member.
var LeftoverMarked = Hook{
	Reason: ClaimsMarked, Want: "claims marked as left over",
	Done: func(_ Scope, m state.Member) bool { return len(m.Claims) == 0 || m.Marked() },
	Step: func(_ Scope, m state.Member) step.Step {
		unmarked := slices.DeleteFunc(slices.Clone(m.Claims), func(c state.Claim) bool { return c.Marked })
		return step.MarkClaims{Component: m.Kind, Member: m.Name, Claims: step.Identities(unmarked)}
	},
}

// Scope is what needs and hooks read: what is known of one component, and what this run may do.
type Scope struct {
	facts.Component
	Policy *Policy
}

// decision is one component while a plan is made: the scope, the profile, and what holds the rollout back.
type decision struct {
	Scope
	profile Profile
	queue   queue
}

// decisionsOf returns the decisions on all components, in dependency order.
func decisionsOf(profiles []Profile, policy *Policy, w *desired.State, s *state.Snapshot) []decision {
	all := make([]decision, len(w.Groups))
	for i, c := range facts.Of(w, s) {
		profile := profileOf(profiles, c.Want.Kind)
		c.Batching = profile.Together.batching(c, policy.Concurrency)
		all[i] = decision{Scope: Scope{c, policy}, profile: profile}
	}
	return all
}

// pursue goes through the hooks in order up to the first goal that is not reached. It
// returns the step for that goal and its gate.
func (sc Scope) pursue(hooks []Hook, m state.Member) verdict {
	var notes []string
	for _, h := range hooks {
		v, open := sc.try(h, m)
		if !open {
			return v
		}
		notes = append(notes, v.notes...)
	}
	return verdict{notes: notes}
}

func (sc Scope) try(h Hook, m state.Member) (v verdict, open bool) {
	g := Gate{
		Component: m.Kind, Member: m.Name, Reason: h.Reason, Want: h.Want, Source: FromDatabase, patience: h.Patience, awaits: h.Awaits,
	}
	if h.Refuse != nil {
		if g.Observed = h.Refuse(sc, m); g.Observed != "" {
			g.Blocked, g.Remedy = true, sc.help(h, m)
			return verdict{gates: []Gate{g}}, false
		}
	}
	if h.Done == nil || h.Done(sc, m) {
		return verdict{}, true
	}
	if h.Skip != nil {
		if why := h.Skip(sc, m); why != "" {
			return verdict{notes: []string{h.Want + " (" + why + ")"}}, true
		}
	}
	if wait, unloaded := schedulersLoading(*sc.Cluster, *sc.All); unloaded && h.Schedules {
		wait.Component = m.Kind
		return verdict{gates: []Gate{wait}}, false
	}
	h.read(sc, m, &g)
	g.Remedy = sc.help(h, m)
	if over, v := sc.lapsed(h, &g); over {
		return v, !g.Blocked
	}
	if h.Stuck != nil {
		if why := h.Stuck(sc, m); why != "" {
			g.Observed, g.waitsForOthers, g.patience = g.Observed+": "+why, true, 0
		}
	}
	return verdict{gates: []Gate{g}, steps: h.step(sc, m)}, false
}

// read sets what is observed of the goal in its gate.
func (h Hook) read(sc Scope, m state.Member, g *Gate) {
	if h.Since != nil {
		g.Since = h.Since(sc, m)
	}
	if h.Observed != nil {
		g.Observed = h.Observed(sc, m)
	}
	if h.Left != nil {
		g.Left = h.Left(sc, m)
	}
}

// step returns what to do now for the goal, if anything.
func (h Hook) step(sc Scope, m state.Member) []step.Step {
	if h.Step == nil {
		return nil
	}
	if next := h.Step(sc, m); next != nil {
		return []step.Step{next}
	}
	return nil
}

// help returns what a person can do about a goal that cannot be reached now.
func (sc Scope) help(h Hook, m state.Member) remedy.Remedy {
	if h.Help != nil {
		if help := h.Help(sc, m); help != nil {
			return help
		}
	}
	return h.Remedy
}

// lapsed reports whether the time for a goal is over, and what follows; else it sets the gate's
// deadline. Without a time limit only a run that is to proceed ends the wait here, when there is no
// progress. Each other wait for a goal is bounded like a wait without a Timeout.
func (sc Scope) lapsed(h Hook, g *Gate) (over bool, v verdict) {
	lapse := Default
	if h.Lapse != nil {
		lapse = h.Lapse(sc)
	}
	g.endless = lapse == Persist
	if h.Timeout == nil || g.Since.IsZero() || g.endless {
		return false, verdict{}
	}
	limit, limited := h.Timeout(sc)
	end, why := g.Since.Add(limit), fmt.Sprintf(" after %s", limit)
	if !limited {
		g.patience = cmp.Or(h.Patience, facts.TimeToServe) // so that the gate says until when
		if lapse != Proceed {
			return false, verdict{}
		}
		end, why = sc.Policy.Waits.standsStillSince(g, sc.All.At).Add(g.patience), fmt.Sprintf(", no progress for %s", g.patience)
	}
	g.Deadline = end
	switch {
	case sc.All.At.Before(end):
		return false, verdict{}
	case lapse == Fail:
		g.Observed += why
		g.Blocked = true
		return true, wait(*g)
	}
	return true, verdict{notes: []string{h.Want + " (" + g.Observed + why + ")"}}
}

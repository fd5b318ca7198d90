package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/upkeep"
)

// verdict is what one phase decides: what to do and what to wait for. The empty verdict
// lets the next phase decide.
type verdict struct {
	steps []step.Step
	gates []Gate
	// notes are goals that were given up, each with the reason.
	notes []string
}

func (v verdict) idle() bool { return len(v.steps) == 0 && len(v.gates) == 0 }

func (v verdict) plus(o verdict) verdict {
	return verdict{steps: append(v.steps, o.steps...), gates: append(v.gates, o.gates...)}
}

func act(s step.Step) verdict { return verdict{steps: []step.Step{s}} }
func wait(g Gate) verdict     { return verdict{gates: []Gate{g}} }

// Decide says what to do next. It asks every component, in the order of the profiles, which is that
// of rollouts. A component that waits holds back only the rollouts of later components, never their
// scaling. Otherwise TiDB could not be scaled while a TiKV host is lost. The policy says what this
// run may do.
func Decide(profiles []Profile, policy Policy, w desired.State, s state.Snapshot) Plan {
	if w.Cluster.Paused {
		return paused(w, s)
	}
	if v := firstUnmet(beforeComponents(&w, &s), nil); !v.idle() {
		return conclude(v, policy, w, s)
	}
	sum := verdict{steps: applies("", w.Objects)}
	sum = sum.plus(adoptEvictions(w.Cluster, s)).plus(endObsolete(w.Cluster, s)).plus(adoptDrains(s)).plus(endDrains(w.Cluster, s)).plus(endIdleDDLPause(w, s))
	decisions := decisionsOf(profiles, &policy, &w, &s)
	sum = decideComponents(decisions, rolloutOrder(profiles, w.Groups), sum)
	sum.steps = slices.Concat(limitMoves(policy, s, sum.steps), holdRegions(policy, s, decisions, sum.gates), sum.steps)
	sum.steps = append(sum.steps, endDDLPauseWhileBlocked(w, s, sum)...)
	if sum.idle() {
		sum = reclaim(decisions, w, s)
	}
	p := conclude(sum, policy, w, s)
	p.markLocked(decisions)
	p.Upkeep = upkeep.Steps(facts.Of(&w, &s))
	p.Notices = findings(w, s)
	p.Unapplied = unapplied(w, s)
	return p
}

// decideComponents adds to a verdict what each component does and waits for, in the order of rollouts. It notes what the
// others mean for the rollout of each component.
func decideComponents(decisions []decision, order []int, sum verdict) verdict {
	var before earlierRollouts
	for _, i := range order {
		d := &decisions[i]
		d.queue = before.queueOf(i, d.Want.Kind)
		var v verdict
		if d.Want.Suspend {
			v = d.suspend(decisions[:i], decisions[i+1:])
		} else {
			v = d.decide()
		}
		v = d.adjusted(v)
		v.gates = bounded(v.gates, d.Policy.Waits, d.Cluster, d.All)
		v = d.cancelWhileBlocked(v, sum.gates)
		sum.steps = append(sum.steps, v.steps...)
		sum.gates = append(sum.gates, v.gates...)
		disks := d.volumes()
		before = append(before, earlierRollout{
			index: i, kind: d.Want.Kind, waits: !v.idle() || d.Want.OtherVolumes && !disks.idle(), needs: !d.needs().idle(), rolling: d.Rolling(), canary: d.Want.Held, awaits: v.awaits(),
		})
		sum.steps = append(sum.steps, disks.steps...)
		sum.gates = append(sum.gates, disks.gates...)
	}
	return sum
}

// conclude makes the plan out of all verdicts.
func conclude(v verdict, policy Policy, w desired.State, s state.Snapshot) Plan {
	p := Plan{Gates: once(v.gates), Steps: chooseSteps(v.steps, policy.Later)}
	if len(p.Steps) == 0 && allWaitForOthers(p.Gates) {
		endByThemselves(p.Gates)
	}
	p.Gates = bounded(p.Gates, policy.Waits, &w.Cluster, &s)
	switch {
	case len(p.Steps) > 0:
		p.Outcome = Act
	case len(p.Gates) == 0:
		p.Outcome = Converged
	case allBlocked(p.Gates) && slices.ContainsFunc(p.Gates, func(g Gate) bool { return g.Blocked }):
		p.Outcome = Blocked
	case allBlocked(p.Gates):
		p.Outcome = Canary
	default:
		p.Outcome = Wait
	}
	return p
}

// once removes gates that are there already: several members that are to leave may wait
// for the same peer.
func once(gates []Gate) []Gate {
	var all []Gate
	for _, g := range gates {
		if !slices.ContainsFunc(all, func(o Gate) bool { return o.Key() == g.Key() }) {
			all = append(all, g)
		}
	}
	return all
}

// allBlocked reports whether no gate may open by itself, but a person can open one. A rollout that is
// held back only waits for an earlier component, whose own gate is in the plan.
func allBlocked(gates []Gate) bool {
	blocked := false
	for _, g := range gates {
		if g.Opens() {
			return false
		}
		blocked = blocked || g.Blocked || g.Approval
	}
	return blocked
}

// awaits returns the component whose rollout is all that is waited for, "" where there is none.
func (v verdict) awaits() topology.Kind {
	if len(v.gates) == 0 || slices.ContainsFunc(v.gates, func(g Gate) bool { return g.awaits != v.gates[0].awaits }) {
		return ""
	}
	return v.gates[0].awaits
}

// rolloutOrder returns the indexes of the wanted components in the order of the profiles.
func rolloutOrder(profiles []Profile, groups []desired.Group) []int {
	order := make([]int, 0, len(groups))
	for _, p := range profiles {
		if i := slices.IndexFunc(groups, func(g desired.Group) bool { return g.Kind == p.Kind }); i >= 0 {
			order = append(order, i)
		}
	}
	return order
}

func (d *decision) decide() verdict {
	about := d.about(state.Member{})
	if v := firstUnmet(beforePhases, about); !v.idle() {
		return v
	}
	repair := d.repair()
	if len(repair.steps) > 0 {
		return repair
	}
	ended := d.replaceEnded()
	if len(ended.steps) > 0 {
		return ended
	}
	if v := isProvided.ask(about); !v.idle() {
		return v
	}
	failing := d.failover()
	if len(failing.steps) > 0 {
		return failing
	}
	// A repair waits only when all other members serve, and so for no surplus member that never serves.
	v := verdict{gates: repair.gates}
	if v.idle() {
		v = d.change()
	}
	d.advise(v.gates)
	v.gates = mergeGates(failing.gates, v.gates)
	if v.gates = mergeGates(ended.gates, v.gates); len(v.steps) == 0 {
		v.gates = mergeGates(d.repairable(v.gates).gates, v.gates)
	}
	return v
}

// change is one change that brings a component nearer to what is wanted. While the change waits, a
// surplus member with which nothing is lost is removed. The component may wait for a member that
// the rollout reaches only after the surplus member.
func (d *decision) change() verdict {
	about := d.about(state.Member{})
	for i := range changes {
		switch v := changes[i].ask(about); {
		case len(v.steps) > 0:
			return v
		case !v.idle():
			return verdict{steps: d.dropSurplus().steps, gates: v.gates}
		}
	}
	return d.rollout()
}

// create makes what is missing. Services come before anything else, because
// pods look each other up by them; the StatefulSet comes last.
func (d *decision) create() verdict {
	steps := applies(d.Want.Kind, d.Want.Services)
	if d.Got.Set.Exists {
		return verdict{steps: append(steps, applies(d.Want.Kind, mounted(d.Want.Config))...)}
	}
	if v := d.downgrade(); !v.idle() {
		return v
	}
	steps = append(steps, applies(d.Want.Kind, d.Want.Config)...)
	if v := d.needs(); !v.idle() && len(d.Got.Staying()) == 0 {
		return verdict{steps: steps}.plus(v) // pods that are there need a controller, whatever is missing
	}
	return verdict{steps: append(steps, d.createSet())}
}

// createSet is the step that creates the StatefulSet.
func (d *decision) createSet() step.Apply {
	first := d.InitialOrdinals()
	return step.Apply{Component: d.Want.Kind, Object: d.Want.Set, Replicas: first.Count, Slots: first.Slots}
}

func (d *decision) needs() verdict {
	var v verdict
	for _, n := range d.profile.Needs {
		if !n.Holds(d.Scope) {
			v = v.plus(n.lack(d.Scope, d.Want.Kind))
		}
	}
	return v
}

// cancelObsolete ends what wanted members no longer need. That is an eviction after the restart
// that it was for, and a removal that the user has cancelled.
func (d *decision) cancelObsolete() verdict {
	var v verdict
	restarts := d.RestartsNow()
	for _, m := range d.Got.InSet() {
		if !d.Kept(m) || state.Has(restarts, m) || d.gaveUp(m) || m.DataBeingDeleted() || d.BeingReplaced(m) {
			continue
		}
		got := d.pursue(d.profile.Standing, m)
		v.steps = append(v.steps, got.steps...)
		v.gates = append(v.gates, got.gates...)
		if marked := m.MarkedClaims(); len(marked) > 0 && m.Up() {
			v.steps = append(v.steps, step.UnmarkClaims{Component: m.Kind, Member: m.Name, Claims: step.Identities(marked), PodUID: m.Pod.UID})
		}
	}
	return v
}

func applies(k topology.Kind, objects []desired.Object) []step.Step {
	var steps []step.Step
	for _, o := range objects {
		if o.Drift != desired.None {
			steps = append(steps, step.Apply{Component: k, Object: o})
		}
	}
	return steps
}

// Undo returns the steps before a run stops early. They end a pause of DDL, which would last until the next run. They
// also take back every eviction that we recorded, whatever state its store is in. A store whose pod cannot be scheduled
// may come up hours later, and PD would keep leaders off it for ever. The next run evicts again where necessary.
func Undo(w desired.State, s state.Snapshot) ([]step.Step, []Gate) {
	v := endEvictions(w.Cluster, s, s.Evictions)
	return append(endDDLPause(w.Cluster, s), v.steps...), v.gates
}

// TakeBack returns the steps before a cluster is deleted whose data stays. Besides the steps of Undo, there are steps
// that have PD use the stores again that a run was removing. A later cluster on the same data removes them if that is
// still asked for.
func TakeBack(w desired.State, s state.Snapshot) []step.Step {
	steps, _ := Undo(w, s)
	for _, r := range s.Removals {
		if m, ok := s.StoreOwner(r.StoreID); ok && m.Database.State == state.StoreOffline {
			steps = append(steps, step.RestoreStore{Component: m.Kind, Member: m.Name, StoreID: r.StoreID})
		}
	}
	return steps
}

func profileOf(profiles []Profile, k topology.Kind) Profile {
	for _, p := range profiles {
		if p.Kind == k {
			return p
		}
	}
	panic(fmt.Sprintf("plan: no profile for component %q", k))
}

package plan

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/desired"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// suspend deletes all pods of a component and keeps what they need to come back. It may begin at
// any time, also during a scale-in or a rollout, which continues when the component is resumed.
// Components that need this component are suspended before, so that none of them fails without it.
func (sc Scope) suspend(p Profile, earlier, later []desired.Group) verdict {
	switch set := sc.Got.Set; {
	case set.Terminating:
		return sc.setLeaving()
	case !set.Exists && !sc.Got.IsGone():
		return sc.adopt(p)
	case !set.Exists && len(earlier) > 0 && !earlier[0].Suspend:
		if v := sc.settle(p); !v.idle() {
			return v // PD is not suspended, and may not have answered before
		}
		return sc.awaitMembership(p)
	case !set.Exists:
		return verdict{}
	}
	for _, g := range later {
		if g.Suspend && !sc.All.Groups[g.Kind].IsGone() {
			return wait(Gate{
				Component: p.Kind, Reason: SuspendQueued, Want: "suspension can begin", held: true,
				Observed: "suspension queued behind " + g.Kind.Title(),
			})
		}
	}
	if v := sc.claimsDeleted("whenDeleted", sc.Got.Set.DeletesWhenDeleted); !v.idle() {
		return v
	}
	if v := sc.settle(p); !v.idle() {
		return v
	}
	if v := sc.claimsStay(); !v.idle() {
		return v
	}
	return act(step.DeleteSet{Component: p.Kind, Name: sc.Want.Set.Name, Basis: sc.basis()})
}

// settle ends what was begun and would cause problems after the suspension.
func (sc Scope) settle(p Profile) verdict {
	for _, m := range sc.Got.Members {
		if v := sc.pursue(p.BeforeSuspend, m); !v.idle() {
			return v
		}
	}
	return verdict{}
}

// awaitMembership waits until a PD that does not serve yet reports whether it still has members
// that have data. PD may have removed a member, whose claims are to be marked.
func (sc Scope) awaitMembership(p Profile) verdict {
	if sc.All.PD.Serving() {
		return verdict{}
	}
	for _, m := range sc.Got.Members {
		if p.Kind.Data() != topology.None && len(m.Claims) > 0 && m.Database.Presence == state.Unknown {
			return wait(Gate{
				Component: p.Kind, Member: m.Name, Reason: MembershipKnown, Want: "membership in PD known", Source: FromDatabase, held: true,
			})
		}
	}
	return verdict{}
}

// adopt creates a StatefulSet around pods that were left without one, so that the pods are deleted
// with it. By themselves the pods would run for ever.
func (sc Scope) adopt(p Profile) verdict {
	if sc.Got.Extent() == 0 {
		return sc.setLeaving()
	}
	steps := applies(p.Kind, sc.Want.Config)
	return verdict{steps: append(steps, step.Apply{Component: p.Kind, Object: sc.Want.Set, Replicas: sc.InitialReplicas()})}
}

// setLeaving waits for a StatefulSet that is being deleted, and for its pods. A pod whose host is lost
// stays until the host is back or a person deletes it by force.
func (sc Scope) setLeaving() verdict {
	var v verdict
	for _, m := range sc.Got.Members {
		if m.Pod == nil || !m.Pod.Terminating {
			continue // the StatefulSet may be deleted without its pods
		}
		v.gates = append(v.gates, Gate{
			Component: m.Kind, Member: m.Name, Reason: PodDeleted, Want: "pod deleted", Observed: m.Trouble(),
			Since: m.Pod.Since, Deadline: m.Pod.Since.Add(facts.TimeToServe), Remedy: sc.describe("pod", m.Name),
			Blocked: !sc.All.At.Before(m.Pod.Since.Add(facts.TimeToServe)),
		})
	}
	if len(v.gates) == 0 {
		v.gates = []Gate{{Component: sc.Want.Kind, Reason: StatefulSetDeleted, Want: "StatefulSet deleted"}}
	}
	return v
}

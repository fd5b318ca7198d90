package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// suspend deletes all pods of a component and keeps what they need to come back. It may begin at
// any time, also during a scale-in or a rollout, which continues when the component is resumed.
// Components that need this component are suspended before, so that none of them fails without it.
func (d *decision) suspend(earlier, later []decision) verdict {
	switch set := d.Got.Set; {
	case set.Terminating:
		return d.setLeaving()
	case !set.Exists && !d.Got.IsGone():
		return d.adopt()
	case !set.Exists && !d.Want.Kind.Votes() && !suspendPD(earlier):
		if v := d.settle(); !v.idle() {
			return v // PD is not suspended, and may not have answered before
		}
		return d.awaitMembership()
	case !set.Exists:
		return verdict{}
	}
	for _, o := range later {
		if o.Want.Suspend && !o.Got.IsGone() {
			return wait(Gate{
				Component: d.Want.Kind, Reason: SuspendQueued, Want: "suspension can begin", waitsForOthers: true,
				Observed: "suspension queued behind " + o.Want.Kind.Title(),
			})
		}
	}
	if v := d.otherPartsSuspended(); !v.idle() {
		return v
	}
	if v := d.startLost(); !v.idle() {
		return v
	}
	if v := d.claimsDeleted("whenDeleted", d.Got.Set.DeletesWhenDeleted); !v.idle() {
		return v
	}
	if v := d.settle(); !v.idle() {
		return v
	}
	if v := d.claimsStay(); !v.idle() {
		return v
	}
	return act(step.DeleteSet{Component: d.Want.Kind, Name: d.Want.Set.Name, Basis: d.basis()})
}

// suspendPD reports whether PD is among the components and is to be suspended. PD of another part stays.
func suspendPD(decisions []decision) bool {
	return slices.ContainsFunc(decisions, func(d decision) bool { return d.Want.Kind.Votes() && d.Want.Suspend })
}

// startLost refuses a suspension of members that do not begin with ordinal 0. Only the StatefulSet has their first
// ordinal. The StatefulSet that is made when they are resumed would have other members, without data.
func (d *decision) startLost() verdict {
	name, start := d.Want.Set.Name, d.Got.Set.Start
	if start == 0 {
		return verdict{}
	}
	return wait(Gate{
		Component: d.Want.Kind, Object: name, Blocked: true, Reason: OrdinalsKept, Want: "ordinals of the members kept",
		Observed: fmt.Sprintf("StatefulSet %s has spec.ordinals.start %d, which is lost when it is deleted", name, start),
		Remedy:   remedy.Remedy{remedy.Run("take suspendAction out of the spec", d.Cluster.Plugin("edit"))},
	})
}

// settle ends what was begun and would cause problems after the suspension.
func (d *decision) settle() verdict {
	for _, m := range d.Got.Members {
		if v := d.pursue(d.profile.BeforeSuspend, m); !v.idle() {
			return v
		}
	}
	return verdict{}
}

// awaitMembership waits until a PD that does not serve yet reports whether it still has members
// that have data. PD may have removed a member, whose claims are to be marked.
func (d *decision) awaitMembership() verdict {
	if d.All.PD.Serving() {
		return verdict{}
	}
	for _, m := range d.Got.Members {
		if d.Want.Kind.Data() != topology.None && len(m.Claims) > 0 && m.Database.Presence == state.Unknown {
			return wait(Gate{
				Component: d.Want.Kind, Member: m.Name, Reason: MembershipKnown, Want: "membership in PD known", Source: FromDatabase, waitsForOthers: true,
			})
		}
	}
	return verdict{}
}

// adopt creates a StatefulSet around pods that were left without one, so that the pods are deleted
// with it. By themselves the pods would run for ever.
func (d *decision) adopt() verdict {
	if len(d.Got.Staying()) == 0 {
		return d.setLeaving()
	}
	steps := applies(d.Want.Kind, d.Want.Config)
	return verdict{steps: append(steps, d.createSet())}
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

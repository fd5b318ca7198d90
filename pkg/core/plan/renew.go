package plan

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// replaceLostData gives wanted members new data whose own data can never serve again, and members that a user has named.
// The claims are deleted first, while the pods still use them. Kubernetes keeps a claim that is in use, but gives such a
// claim to no other pod. Then the pods are deleted, and Kubernetes creates both again.
//
// A voter with new data is a new voter, so all others have to serve. A member that serves
// and must get new data comes last: with OrderedReady, other members may wait for one
// that is recreated before it.
func (d *decision) replaceLostData() verdict {
	var v verdict
	members := d.Got.InSet()
	if i := slices.IndexFunc(members, renewed); d.Want.Kind.Data() == topology.Raft && i >= 0 {
		members = members[:i+1] // one at a time
	}
	for _, m := range members {
		if d.renewable(m) && !d.needsTemplates(m) {
			v = v.plus(d.withNewData(m))
		}
	}
	if d.Want.Kind.Data() == topology.Raft {
		if v.idle() {
			v = d.joinsWithOldData(members)
		}
		if !v.idle() {
			return v
		}
	}
	for _, m := range members {
		if d.MustReplaceData(m) {
			return v.plus(d.replaceData(m))
		}
	}
	m, ok := d.NextToReplace()
	if ok && !slices.ContainsFunc(members, renewed) && (m.Database.State == state.StoreOffline || !d.needsTemplates(m)) {
		v = v.plus(d.replaceNamed(m))
		if len(v.steps) == 0 && len(d.MembersToAdd(1)) > 0 {
			v = v.plus(d.scaleOut()) // its regions may need the room
		}
	}
	return v
}

// joinsWithOldData waits for voters that PD has removed and whose processes run with their old data. PD never takes such
// a voter again. A voter that joins for the first time looks the same, so that the time to join is given. Without this
// wait a run would end as converged, though fewer voters serve than the user wants.
func (d *decision) joinsWithOldData(members []state.Member) verdict {
	var v verdict
	for _, m := range members {
		if !d.Kept(m) || !m.RemovalIrreversible() || len(m.Claims) == 0 || m.Pod == nil || m.Pod.Terminating || m.Pod.Started.IsZero() {
			continue
		}
		if due := m.Pod.Started.Add(facts.Registering); d.All.At.Before(due) {
			v.gates = append(v.gates, d.untilDeadline(m, "gets new data", m.Pod.Started, due))
		}
	}
	return v
}

// renewed reports whether a member is getting new data, or is the next one to get it. A member
// whose pod cannot start is not, and no member above it waits for that.
func renewed(m state.Member) bool {
	return m.RemovalIrreversible() && (m.Pod == nil || m.Pod.Ran)
}

// replaceData removes such a member from PD, and says why: the user has not asked for it.
func (d *decision) replaceData(m state.Member) verdict {
	v := d.release(m)
	for i := range v.gates {
		if g := &v.gates[i]; g.Member == m.Name {
			g.Observed = strings.TrimPrefix(g.Observed+"; its claim "+m.ClaimBeingDeleted()+" is being deleted", "; ")
		}
	}
	return v
}

// claimsStay must hold before pods are deleted that come back later. With the pod of a
// dataBeingDeleted member its data would be deleted. If the pod is being deleted already, its data
// cannot be kept.
func (sc Scope) claimsStay() verdict {
	var v verdict
	for _, m := range sc.Got.Members {
		if m.DataBeingDeleted() && !m.Pod.Terminating {
			v.gates = append(v.gates, Gate{
				Component: sc.Want.Kind, Member: m.Name, Reason: ClaimBeingDeleted, Want: "no claim being deleted", Blocked: true,
				Observed: "claim " + m.ClaimBeingDeleted() + " is being deleted, and goes with its pod",
				Remedy:   remedy.Remedy{remedy.Say("resume " + sc.Want.Kind.Title() + ", so that others take over what the member has")},
			})
		}
	}
	return v
}

// needsTemplates reports whether the StatefulSet is made again before the claims of a member that a user has named are
// deleted. Otherwise the member would come back with volumes of the class or size that the user has just changed. Where
// the StatefulSet is needed for something else, the member does not wait, because a rollout waits for the member. With
// other volumes the member waits in any case: with the old ones it would be refused, and nothing names its new claims.
func (d *decision) needsTemplates(m state.Member) bool {
	return d.Want.Replaces(m) && d.TemplatesDiffer() && (d.Want.OtherVolumes || len(d.recreate().steps) > 0)
}

func (d *decision) renewable(m state.Member) bool {
	return d.profile.BeforeRenew != nil && (d.Kept(m) || d.HoldsUp(m)) && len(m.Claims) > 0 &&
		m.Pod != nil && !m.Pod.Terminating && d.CannotComeBack(m)
}

func (d *decision) withNewData(m state.Member) verdict {
	if v := d.pursue(d.profile.BeforeRenew, m); !v.idle() {
		return v
	}
	if s, first := deleteNextClaim(m); first {
		return act(s)
	}
	return act(step.DeletePod{Component: d.Want.Kind, Member: m.Name, UID: m.Pod.UID})
}

// deleteNextClaim returns the step that deletes the first claim of a member that is not being deleted. It reports whether
// there is one. The pod keeps the claims until the pod is deleted.
func deleteNextClaim(m state.Member) (step.Step, bool) {
	for _, c := range m.Claims {
		if !c.Terminating {
			return step.DeleteClaim{Component: m.Kind, Member: m.Name, Name: c.Name, UID: c.UID, PodUID: m.Pod.UID}, true
		}
	}
	return nil, false
}

// claimsDeletedBefore returns the step before the restart of a member without data that gets new volumes, and reports
// whether there is one. Claims are marked and deleted while the pod uses these claims. Kubernetes makes both again after
// the restart. A run that ends in between leaves a member that serves.
func (sc Scope) claimsDeletedBefore(m state.Member) (step.Step, bool) {
	switch {
	case !sc.RestartsWithNewVolumes(m):
		return nil, false
	case !LeftoverMarked.Done(sc, m):
		return LeftoverMarked.Step(sc, m), true
	}
	return deleteNextClaim(m)
}

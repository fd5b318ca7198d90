package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// adviseParallel adds what a person can do about members that do not get Ready and that other pods
// wait for. With OrderedReady Kubernetes creates these pods only afterwards. A member without data
// may need just the members of these pods. It needs them for a quorum of PD or of regions, or
// because PD has added a member that has yet to start. Then none of them ever starts. As long as PD
// does not answer, a member with marked data may be needed as well. The mark may be from a removal
// that never happened. Pods may also wait for a member that is to be removed, about which there is
// no gate.
func (d *decision) adviseParallel(v verdict) verdict {
	for _, m := range d.Got.InSet() {
		first, queued := d.MemberBefore(m)
		noData := len(m.Claims) == len(m.MarkedClaims()) && (len(m.Claims) == 0 || m.Database.Presence != state.Unknown)
		if !queued || noData && !m.Database.Unstarted {
			continue
		}
		for i := range v.gates {
			if g := &v.gates[i]; d.mayNeed(*g, first) || g.waitsForOthers && g.Member == m.Name && (!d.Kept(first) || d.isStuck(first)) {
				after := "whose pod Kubernetes makes only after " + first.Name + " is ready"
				g.Remedy = append(g.Remedy, d.makeParallel(m, after))
				return v
			}
		}
	}
	return d.adviseParallelForSlots(v)
}

// adviseParallelForSlots adds the same where PD may need a member in a slot below others. With OrderedReady such a member
// does not come back by itself, because PD may have removed it. Kubernetes would then make no pods above it again.
func (d *decision) adviseParallelForSlots(v verdict) verdict {
	slots := d.Got.Set.Ordinals().Slots
	at := slices.IndexFunc(d.Got.OutsideSet(), func(m state.Member) bool {
		return slices.Contains(slots, m.Ordinal) && d.WouldHoldUp(m) && !m.LosesClaim() && d.PDNeeds([]state.Member{m})
	})
	if at < 0 {
		return v
	}
	for i := range v.gates {
		if g := &v.gates[i]; g.Blocked && g.Reason == MemberServing {
			g.Remedy = append(g.Remedy, d.makeParallel(d.Got.OutsideSet()[at], "for which the pods above it would wait"))
			return v
		}
	}
	return v
}

// isStuck reports whether a pod has not become ready in the time that a member may take, and is not being deleted.
func (sc Scope) isStuck(m state.Member) bool {
	return m.Pod != nil && !m.Pod.Terminating && !m.Pod.Ready && serving(sc, m).Blocked
}

// mayNeed reports whether a gate may need members whose pods Kubernetes creates after a given pod
// is Ready. A PD without a quorum may need any of these members.
func (sc Scope) mayNeed(g Gate, first state.Member) bool {
	if g.Member != first.Name && sc.All.PD.Serving() {
		return false
	}
	return g.Blocked && g.Reason == MemberServing || g.Reason == MembershipKnown || g.Reason == PDLeaderMoved && !sc.All.PD.Serving()
}

// makeParallel is how pods are made at once, so that a member gets its pod. after says why it has none.
func (sc Scope) makeParallel(m state.Member, after string) remedy.Action {
	return remedy.Run(fmt.Sprintf("if it needs %s, %s, have all pods made at once and then run this again", m.Name, after),
		sc.Cluster.Patch(fmt.Sprintf(`{"%s":{"podManagementPolicy":"Parallel"}}`, m.Kind)),
		sc.Cluster.Kubectl("delete", sc.Cluster.SetResource(), sc.Cluster.SetName(m.Kind), "--cascade=orphan"))
}

// removedPod is the gate of a pod above the StatefulSet's replicas. With OrderedReady
// Kubernetes does not delete it while a pod that stays is not Ready, which may be for
// ever. Then the user has to delete it: nothing needs it.
func (sc Scope) removedPod(m state.Member) Gate {
	g := Gate{Component: m.Kind, Member: m.Name, Reason: RemovedPodDeleted, Want: "removed pod deleted", Observed: m.Trouble()}
	if m.Pod.Terminating {
		return sc.withinTimeToServe(g, m.Pod.Since, sc.podAdvice(m))
	}
	if !sc.Got.Set.Ordered {
		return g
	}
	for _, o := range sc.Got.InSet() {
		if o.Pod == nil || o.Pod.Ready && !o.Pod.Terminating && !sc.Loops(o) {
			continue
		}
		g.Observed = "Kubernetes deletes it only when " + o.Name + " is ready"
		since := o.Pod.Since
		if sc.Loops(o) {
			since = sc.LoopingSince(o.Pod) // it is Ready from time to time, never for long enough
		}
		return sc.withinTimeToServe(g, since, sc.deletePodHelp(m))
	}
	return g
}

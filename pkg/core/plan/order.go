package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// before is the member that Kubernetes waits for before it makes a pod that is
// missing: with OrderedReady each comes after all with a lower ordinal are Ready.
// Until then nothing can be said about the revision that the pod would have.
func (sc Scope) before(m state.Member) (state.Member, bool) {
	if !sc.Got.Set.Ordered || m.Pod != nil {
		return state.Member{}, false
	}
	for _, o := range sc.Got.Running() {
		if o.Ordinal < m.Ordinal && (o.Pod == nil || !o.Pod.Ready || o.Pod.Terminating) {
			return o, true
		}
	}
	return state.Member{}, false
}

// WaitsFor reports whether Kubernetes makes no pod of a member before another one is
// ready.
func (sc Scope) WaitsFor(m, other state.Member) bool {
	first, queued := sc.before(m)
	return queued && first.Ordinal == other.Ordinal
}

// atOnce says of members that do not get Ready, while Kubernetes makes no pods of others
// before they are, what a person can do: a member without data may need just the others,
// a quorum of PD or of regions, or one that PD has added and that has yet to start, and
// then nobody comes for ever.
func (sc Scope) atOnce(v verdict) verdict {
	for _, m := range sc.Got.Running() {
		first, queued := sc.before(m)
		if !queued || len(m.Claims) == len(markedClaims(m)) && !m.Database.Unstarted {
			continue
		}
		for i := range v.gates {
			if g := &v.gates[i]; g.Blocked && g.Reason == MemberServing && g.Member == first.Name {
				g.Remedy = append(g.Remedy, sc.makeParallel(m, first))
				return v
			}
		}
	}
	return v
}

func (sc Scope) makeParallel(m, first state.Member) remedy.Action {
	return remedy.Run(fmt.Sprintf("if it needs %s, whose pod Kubernetes makes only after %s is ready, have all pods made at once and then run this again",
		m.Name, first.Name),
		sc.Cluster.Patch(fmt.Sprintf(`{"%s":{"podManagementPolicy":"Parallel"}}`, m.Kind)),
		sc.Cluster.Kubectl("delete", "statefulset", sc.Cluster.SetName(m.Kind), "--cascade=orphan"))
}

// departing waits for a pod beyond the StatefulSet's replicas to go. With
// OrderedReady Kubernetes does not delete it while a pod that stays is not Ready,
// which may be for ever, and then it is the user's to delete: nothing needs it.
func (sc Scope) departing(m state.Member) Gate {
	g := Gate{Component: m.Kind, Member: m.Name, Reason: RemovedPodDeleted, Want: "removed pod deleted", Observed: m.Trouble()}
	if m.Pod.Terminating {
		return sc.since(g, m.Pod.Since, sc.describe("pod", m.Name))
	}
	if !sc.Got.Set.Ordered {
		return g
	}
	for _, o := range sc.Got.Running() {
		if o.Pod == nil || o.Pod.Ready && !o.Pod.Terminating && !sc.loops(o) {
			continue
		}
		g.Observed = "Kubernetes deletes it only when " + o.Name + " is ready"
		since := o.Pod.Since
		if sc.loops(o) {
			since = sc.loopingSince(o.Pod) // it is Ready now and then, never for long enough
		}
		return sc.since(g, since, sc.deletePod(m))
	}
	return g
}

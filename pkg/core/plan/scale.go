package plan

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// scaleOut adds members, no more than the user allows to join at the same time. Voters join one by
// one, since a second voter that is added before the first has started can take the quorum away.
// Members that can join do so while members above them still wait for free claims.
func (d *decision) scaleOut() verdict {
	if last, ok := d.Last(); ok && d.StoreForgotten(last) {
		return verdict{}
	}
	adding := d.MembersToAdd(d.joiners())
	if len(adding) == 0 {
		return verdict{}
	}
	if v, waits := d.recreatedFirst(); waits {
		return v
	}
	if v := d.downVoterLeaves(); !v.idle() {
		return v
	}
	var open verdict
	var ready []state.Member
	for i, m := range adding {
		v := d.prepareJoin(m, i)
		if open = open.plus(v); open.idle() {
			ready = append(ready, m)
		}
	}
	if len(ready) > 0 {
		return act(d.resized(ready, nil))
	}
	return open
}

// resized is the step that adds and removes members of a StatefulSet. Wanted slots without a member come with it.
func (d *decision) resized(added, removed []state.Member) step.Resize {
	now := d.Got.Set.Ordinals()
	next := now.Changed(ordinalsOf(added), ordinalsOf(removed), d.Want.Slots)
	return step.Resize{
		Component: d.Want.Kind, Basis: d.basis(), From: now.Count, To: next.Count, SlotsFrom: now.Slots, SlotsTo: next.Slots,
	}
}

func ordinalsOf(members []state.Member) []int {
	all := make([]int, 0, len(members))
	for _, m := range members {
		all = append(all, m.Ordinal)
	}
	return all
}

// joiners returns how many members may join at the same time. During a rollout only one may,
// because a rollout cannot reach a member that fails below members that serve.
func (sc Scope) joiners() int {
	if sc.Want.Kind.Data() == topology.Raft || sc.Rolling() {
		return 1
	}
	return max(sc.Want.ScaleOut, 1)
}

// prepareJoin returns what must be done or hold before a member can join. Others may join at the same
// time.
func (d *decision) prepareJoin(m state.Member, others int) verdict {
	if !d.ComesBack(m) {
		if v := d.waitForJoined(m, others); !v.idle() {
			return v
		}
	}
	return d.clearOrdinal(m)
}

// waitForJoined waits for the members that must serve before another member may join. A voter waits for
// all voters. Any other member waits until the last members have been seen to serve, where too many
// would join at the same time. A member that is lost later, or never starts, does not prevent that
// members are added, unless a rollout is under way. A partition reaches a member that fails only
// while no member above it serves with another revision.
func (d *decision) waitForJoined(m state.Member, coming int) verdict {
	running := d.Got.InSet()
	if d.Want.Kind.Data() == topology.Raft && d.All.PD.ClusterID == 0 && !d.delaysOthers(m) {
		return verdict{} // PD has nothing to vote on before most initial members are there
	}
	if d.Want.Kind.Data() == topology.Raft {
		return d.awaitServing(d.NotServing(d.VotingMembers(running)))
	}
	var joining verdict
	last := max(len(running)-d.joiners(), 0)
	for i, o := range running {
		if i < last && !d.mayHaveComeBack(o) {
			continue
		}
		g := serving(d.Scope, o)
		// There is no wait for a member that Kubernetes creates only after a lower one. A member
		// that leaves the database, or must leave it, may itself wait for the new ones, since its
		// regions need room.
		rolling := i >= last && d.Rolling() && o.Database.State != state.StoreOffline && !o.DataBeingDeleted()
		if !o.Up() && !g.waitsForOthers && (rolling || !o.CountedOn() && !g.Blocked) {
			joining.gates = append(joining.gates, g)
		}
	}
	if len(joining.gates)+coming < d.joiners() {
		return verdict{}
	}
	return joining
}

// delaysOthers reports whether Kubernetes would make the pods of other members only after a new member is ready. A member
// that joins PD is ready only after the initial members. With such a member below these, PD would never start.
func (d *decision) delaysOthers(m state.Member) bool {
	above := func(o state.Member) bool { return o.Ordinal > m.Ordinal }
	return d.Got.Set.Ordered && slices.ContainsFunc(d.Got.InSet(), above)
}

// mayHaveComeBack reports whether a member below others may have just joined. Only a StatefulSet with slots gets a
// member below others, in a slot that is not wanted any more.
func (d *decision) mayHaveComeBack(m state.Member) bool {
	return d.Cluster.Advanced && !m.Up() && !m.CountedOn()
}

// clearOrdinal makes an ordinal free for a new member. The pod and the data of the former member of that
// ordinal have to be deleted. Where nothing has to be deleted, a pod that is there stays, or
// Kubernetes creates the next one after it. With OrderedReady that can be necessary, since
// Kubernetes deletes no pod while a lower one is not Ready.
func (d *decision) clearOrdinal(m state.Member) verdict {
	if d.Want.Kind.Data() == topology.None {
		return verdict{}
	}
	returns := m.CountedOn() || d.ComesBack(m)
	if m.Pod != nil && !returns {
		return wait(d.removedPod(m))
	}
	for _, c := range m.Claims {
		switch {
		case c.Terminating:
			return wait(Gate{Component: d.Want.Kind, Member: m.Name, Object: c.Name, Reason: ClaimDeleted, Want: "left-over claim deleted", Observed: c.Name + " is terminating", Remedy: d.describe("pvc", c.Name)})
		case returns:
			// The member was never removed. The data is its own, and a new pod starts on it.
		case m.Database.Presence == state.Unknown:
			return wait(Gate{Component: d.Want.Kind, Member: m.Name, Object: c.Name, Reason: ClaimOwnerKnown, Want: "owner of the claim known", Observed: c.Name, Source: FromDatabase})
		case c.Marked:
			return act(step.DeleteClaim{Component: d.Want.Kind, Member: m.Name, Name: c.Name, UID: c.UID})
		case m.Database.Removed():
			return d.pursue([]Hook{LeftoverMarked}, m)
		default:
			return wait(Gate{
				Component: d.Want.Kind, Member: m.Name, Blocked: true,
				Object: c.Name, Reason: ClaimFree, Want: "claim free",
				Observed: fmt.Sprintf("claim %s holds data of a member that PD does not know", c.Name),
				Remedy:   remedy.Remedy{remedy.Run("look at it, then delete it", d.Cluster.Delete("pvc", c.Name))},
			})
		}
	}
	return verdict{}
}

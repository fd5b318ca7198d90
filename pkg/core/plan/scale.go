package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// scaleOut adds members, no more than the user allows to be joining at the same
// time; voters one by one, since a second one that is added before the first has
// started can take the quorum away. Those that are next and ready to come do so,
// while others beyond them still wait for room.
func (sc Scope) scaleOut(p Profile) verdict {
	have := sc.Got.Set.Replicas
	if have > 0 && sc.spent(p, sc.at(have-1)) {
		return verdict{}
	}
	var open verdict
	ready := 0
	for i := range min(sc.Want.Size()-have, sc.joiners(p)) {
		v := sc.admit(p, sc.at(have+i), i)
		if open = open.and(v); open.idle() {
			ready++
		}
	}
	if ready > 0 {
		return act(Resize{Component: p.Kind, From: have, To: have + ready})
	}
	return open
}

// joiners is how many members may be joining at the same time. While a rollout is
// under way it is one: what fails below what serves is out of the rollout's reach.
func (sc Scope) joiners(p Profile) int {
	if p.Kind.Data() == topology.Raft || sc.rolling() {
		return 1
	}
	return max(sc.Want.ScaleOut, 1)
}

// admit says what has to happen before a member can come, with others that come
// at the same time.
func (sc Scope) admit(p Profile, m state.Member, others int) verdict {
	if !sc.returns(p, m) {
		if v := sc.joined(p, others); !v.idle() {
			return v
		}
	}
	return sc.vacate(p, m)
}

// returns: nobody has removed the member, only its pod was taken away. Its own
// data waits for it, so it adds no voter. It may be just what a quorum lacks, and
// then nobody can be asked, but it would be marked if it had been removed.
func (sc Scope) returns(p Profile, m state.Member) bool {
	if len(m.Claims) == 0 || len(markedClaims(m)) > 0 {
		return false
	}
	return alive(m) || p.Kind.Data() == topology.Raft && m.Database.Presence == state.Unknown
}

// alive: the database counts on the member.
func alive(m state.Member) bool {
	return m.Database.Presence == state.Present && m.Database.State != state.StoreTombstone
}

// joined waits for the members that must serve before another one may come: all
// that vote, else the last ones, until they have been seen to serve, as far as
// with those that come now there would be too many. That one is lost later, or
// never comes, is no reason to deny the user more of them, unless a rollout is
// under way: a partition reaches a member that fails only while there is none
// above it that serves with another revision.
func (sc Scope) joined(p Profile, coming int) verdict {
	running := sc.Got.Running()
	if p.Kind.Data() == topology.Raft && sc.All.PD.ClusterID == 0 {
		return verdict{} // there is nothing to vote on before most founders are there
	}
	if p.Kind.Data() == topology.Raft {
		return down(sc, sc.voting(running), nil)
	}
	var joining verdict
	for _, m := range running[max(len(running)-sc.joiners(p), 0):] {
		g := serving(sc, m)
		// One that has to wait for a lower one is not what is waited for. One that
		// leaves the database may wait for those that come, as its regions need room.
		rolling := sc.rolling() && m.Database.State != state.StoreOffline
		if !m.Up() && !g.held && (rolling || !alive(m) && !g.Blocked) {
			joining.gates = append(joining.gates, g)
		}
	}
	if len(joining.gates)+coming < sc.joiners(p) {
		return verdict{}
	}
	return joining
}

// voting leaves out members that were given up and that PD has let go of: they
// have no vote, and so none to miss.
func (sc Scope) voting(members []state.Member) []state.Member {
	var voters []state.Member
	for _, m := range members {
		if f, given := sc.Want.Failure(m.Name); !given || !f.Deleted || m.Database.Presence != state.Absent {
			voters = append(voters, m)
		}
	}
	return voters
}

// vacate makes an ordinal free for a new member: the pod of the last one has to
// be gone, and so has its data. Where nothing has to go, a pod that is there yet
// is in nobody's way: it stays, or Kubernetes makes the next one after it. With
// OrderedReady that may be what there is to do, since it deletes no pod while a
// lower one is not Ready.
func (sc Scope) vacate(p Profile, m state.Member) verdict {
	if p.Kind.Data() == topology.None {
		return verdict{}
	}
	returns := alive(m) || sc.returns(p, m)
	if m.Pod != nil && !returns {
		return wait(sc.departing(m))
	}
	for _, c := range m.Claims {
		switch {
		case c.Terminating:
			return wait(Gate{Component: p.Kind, Member: m.Name, Object: c.Name, Reason: ClaimDeleted, Want: "left-over claim deleted", Observed: c.Name + " is terminating", Remedy: sc.describe("pvc", c.Name)})
		case returns:
			// The member never left: its data is its own. It comes back to it.
		case m.Database.Presence == state.Unknown:
			return wait(Gate{Component: p.Kind, Member: m.Name, Object: c.Name, Reason: ClaimOwnerKnown, Want: "owner of the claim known", Observed: c.Name, Source: FromDatabase})
		case c.Marked:
			return act(DeleteClaim{Component: p.Kind, Member: m.Name, Name: c.Name, UID: c.UID})
		case m.Database.State == state.StoreTombstone:
			return sc.pursue([]Hook{LeftoverMarked}, m)
		default:
			return wait(Gate{
				Component: p.Kind, Member: m.Name, Blocked: true,
				Object: c.Name, Reason: ClaimFree, Want: "claim free",
				Observed: fmt.Sprintf("claim %s holds data of a member that PD does not know", c.Name),
				Remedy:   remedy.Remedy{remedy.Run("look at it, then delete it", sc.Cluster.Kubectl("delete", "pvc", c.Name))},
			})
		}
	}
	return verdict{}
}

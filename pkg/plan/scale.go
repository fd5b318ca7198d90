package plan

import (
	"fmt"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// scaleOut adds one member at a time and lets it join before the next: a second
// voter that is added before the first has started can take the quorum away.
func (sc Scene) scaleOut(p Profile) verdict {
	have := sc.Got.Set.Replicas
	if have >= sc.Want.Size() || have > 0 && doomed(sc.at(have-1)) {
		return verdict{}
	}
	next := sc.at(have)
	if !sc.returns(p, next) {
		if v := sc.joined(p); !v.idle() {
			return v
		}
	}
	if v := sc.vacate(p, next); !v.idle() {
		return v
	}
	return act(Resize{Component: p.Kind, From: have, To: have + 1})
}

// returns: nobody has removed the member, only its pod was taken away. Its own
// data waits for it, so it adds no voter. It may be just what a quorum lacks, and
// then nobody can be asked, but it would be marked if it had been removed.
func (sc Scene) returns(p Profile, m state.Member) bool {
	if len(m.Claims) == 0 || len(markedClaims(m)) > 0 {
		return false
	}
	return alive(m) || p.Voters && m.Database.Presence == state.Unknown
}

// alive: the database counts on the member.
func alive(m state.Member) bool {
	return m.Database.Presence == state.Present && m.Database.State != state.StoreTombstone
}

// joined waits for the members that must serve before another one may come: all
// that vote, else only the last one, until it has been seen to serve. That it
// is lost later, or never comes, is no reason to deny the user more of them,
// unless a rollout is under way: a partition reaches a member that fails only
// while there is none above it that serves with another revision.
func (sc Scene) joined(p Profile) verdict {
	running := sc.Got.Running()
	if p.Voters && sc.All.PD.ClusterID == 0 && len(running) > 0 {
		return verdict{} // there is nothing to vote on before most founders are there
	}
	if p.Voters || len(running) == 0 {
		return down(sc, running, nil)
	}
	last := running[len(running)-1]
	g := serving(sc, last)
	if last.Up() || !sc.rolling() && (alive(last) || g.Blocked) {
		return verdict{}
	}
	return wait(g)
}

// vacate makes an ordinal free for a new member: the pod of the last one has to
// be gone, and so has its data.
func (sc Scene) vacate(p Profile, m state.Member) verdict {
	if m.Pod != nil {
		return wait(Gate{Component: p.Kind, Member: m.Name, Want: "the former pod is gone", Observed: "it is still there"})
	}
	if p.Stateless {
		return verdict{}
	}
	returns := alive(m) || sc.returns(p, m)
	for _, c := range m.Claims {
		switch {
		case c.Terminating:
			return wait(Gate{Component: p.Kind, Member: m.Name, Want: "the left-over claim is gone", Observed: c.Name + " is terminating"})
		case returns:
			// The member never left: its data is its own. It comes back to it.
		case m.Database.Presence == state.Unknown:
			return wait(Gate{Component: p.Kind, Member: m.Name, Want: "PD says what claim " + c.Name + " belongs to", Source: FromDatabase})
		case c.Marked:
			return act(DeleteClaim{Component: p.Kind, Member: m.Name, Name: c.Name, UID: c.UID})
		case m.Database.State == state.StoreTombstone:
			return sc.pursue([]Hook{ClaimsMarked}, m)
		default:
			return wait(Gate{
				Component: p.Kind, Member: m.Name, Blocked: true,
				Want:     "a claim that is known to be free",
				Observed: fmt.Sprintf("claim %s holds data of a member that PD does not know", c.Name),
				Unblock:  fmt.Sprintf("look at it, then run: kubectl delete pvc %s", c.Name),
			})
		}
	}
	return verdict{}
}

// scaleIn removes the highest ordinal: first from the database, then, when that
// has let go of it, from Kubernetes. Its claims stay, marked.
func (sc Scene) scaleIn(p Profile) verdict {
	have := sc.Got.Set.Replicas
	if v := sc.leftovers(p); !v.idle() {
		return v
	}
	if have == 0 || have <= sc.Want.Size() && !doomed(sc.at(have-1)) {
		return verdict{}
	}
	if v := sc.release(p, sc.at(have-1)); !v.idle() {
		return v
	}
	return act(Resize{Component: p.Kind, From: have, To: have - 1})
}

// release has the database let go of a member, while all that the user keeps
// serve. Others that are to go need not, nor those that are beyond help: one
// that is dead would hold up the removal of those above it for ever.
func (sc Scene) release(p Profile, m state.Member) verdict {
	if v := sc.missing(m); !v.idle() {
		return v
	}
	return sc.pursue(p.BeforeRemove, m)
}

func (sc Scene) missing(except state.Member) verdict {
	var peers []state.Member
	for _, m := range sc.Got.Running() {
		if sc.Kept(m) && !doomed(m) {
			peers = append(peers, m)
		}
	}
	return down(sc, peers, &except)
}

// doomed: the member's removal has gone too far to be called off. Its store is
// a tombstone, or PD has forgotten it after its claims were marked; with the
// data it has it can never serve again. The ordinal is given up even if it is
// wanted, and scaled out to anew.
func doomed(m state.Member) bool {
	return m.Database.State == state.StoreTombstone ||
		m.Database.Presence == state.Absent && m.Marked()
}

// at is the member of an ordinal, also of one that nothing was seen of.
func (sc Scene) at(ordinal int) state.Member {
	if ordinal < len(sc.Got.Members) {
		return sc.Got.Members[ordinal]
	}
	return state.Member{Kind: sc.Want.Kind, Ordinal: ordinal, Name: sc.Cluster.PodName(sc.Want.Kind, ordinal)}
}

// leftovers deals with members beyond the StatefulSet's replicas: a pod that is
// still stopping, or one that PD still counts on although its pod was taken
// away, by a scale-in outside of this tool or one that was cut short.
func (sc Scene) leftovers(p Profile) verdict {
	first := min(sc.Got.Set.Replicas, len(sc.Got.Members))
	for _, m := range sc.Got.Members[first:] {
		if m.Pod != nil {
			return wait(sc.departing(m))
		}
		if sc.Kept(m) || m.Database.Presence != state.Present {
			continue
		}
		if sc.pursue(p.BeforeRemove, m).idle() {
			continue // PD let go of it before, and only remembers
		}
		return sc.release(p, m)
	}
	return verdict{}
}

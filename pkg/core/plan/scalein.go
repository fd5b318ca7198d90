package plan

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// scaleIn removes the highest ordinals, no more than the user allows to be
// leaving at the same time: first from the database, then, when that has let go
// of them, from Kubernetes. Those that are free at the top go at once, while
// others below them are still leaving. Their claims stay, marked.
func (sc Scope) scaleIn(p Profile) verdict {
	have := sc.Got.Set.Replicas
	open, going := sc.leftovers(p)
	if len(open.gates) > going {
		return open
	}
	free, surplus := 0, have-sc.Want.Size()
	if have > 0 && sc.spent(p, sc.at(have-1)) {
		surplus = max(surplus, 1)
	}
	for i := range min(surplus, sc.leavers(p)-going) {
		v := sc.release(p, sc.at(have-1-i))
		if v.idle() && free == i {
			free++
		}
		open = open.and(v)
	}
	if free > 0 {
		return act(Resize{Component: p.Kind, From: have, To: have - free})
	}
	return open
}

// leavers is how many members may be leaving at the same time.
func (sc Scope) leavers(p Profile) int {
	if p.Kind.Data() == topology.Raft {
		return 1
	}
	return max(sc.Want.ScaleIn, 1)
}

// release has the database let go of a member, while all that the user keeps
// serve. Others that are to go need not, nor those that are beyond help: one
// that is dead would hold up the removal of those above it for ever. What costs
// nothing, and what is under way already, waits for nobody.
func (sc Scope) release(p Profile, m state.Member) verdict {
	v, missing := sc.pursue(p.BeforeRemove, m), sc.missing(m)
	switch {
	case missing.idle() || sc.worthless(p, m):
		return v
	case v.waiting() && m.Database.Presence == state.Present:
		return v.and(missing)
	}
	return missing
}

// waiting: there is nothing to do, and what is waited for, if anything, may come by
// itself.
func (v verdict) waiting() bool {
	for _, g := range v.gates {
		if g.Blocked {
			return false
		}
	}
	return len(v.steps) == 0
}

// worthless: nothing is lost with the member, because the database does not
// count on it. It never joined, or has been let go of, or keeps no data and does
// not serve. Nor is anything lost with one that has no pod and whose data went with its
// claim, or that has no pod and never started. As long as PD waits for such a one to start, it
// lets nobody else join, so that who waits to join must not be waited for.
func (sc Scope) worthless(p Profile, m state.Member) bool {
	switch {
	case p.Kind.Data() == topology.None:
		return isDown(m) && sc.free(p, m)
	case alive(m) && m.Pod == nil && (m.Database.Unstarted || sc.claimGone(m)):
		return true
	}
	return m.Database.Presence == state.Absent || m.Database.State == state.StoreTombstone
}

// claimGone reports whether the claim that a member had its data in is gone. Without such
// a claim template the data is elsewhere, on the disk of a node perhaps.
func (sc Scope) claimGone(m state.Member) bool {
	_, claimed := sc.Got.Set.Volumes[string(m.Kind)]
	return claimed && len(m.Claims) == 0
}

// missing waits for the peers of a member, but for those that wait for the member
// itself, as Kubernetes makes no pod of theirs before. One that was Ready a moment ago
// may be so again, however often it has crashed, and they come then.
func (sc Scope) missing(except state.Member) verdict {
	var peers []state.Member
	pod := except.Pod
	lasting := pod == nil || !pod.Ready && sc.All.At.Sub(pod.Since) >= settling
	for _, m := range sc.Got.Running() {
		if sc.Kept(m) && !removalIrreversible(m) && (!sc.WaitsFor(m, except) || !lasting) {
			peers = append(peers, m)
		}
	}
	return down(sc, peers, &except)
}

// recall brings back members whose pods somebody else has taken away, by lowering the
// replicas past us, one after the other, while the database counts on them and their
// data is there. With several such stores regions may have no quorum, and so may PD
// with such voters: nothing can be moved off them before they run again. Who is not
// wanted leaves afterwards as any other does. What this tool removes is marked before
// its pod goes, so it is not brought back, unless PD lacks it after all: it may have
// joined in that very moment. A StatefulSet has no gaps, so that a store comes after
// those below it, also after one that has lost its data.
func (sc Scope) recall(p Profile) verdict {
	have := sc.Got.Set.Replicas
	if have >= len(sc.Got.Members) {
		return verdict{}
	}
	beyond := sc.Got.Members[have:]
	counted := func(m state.Member) bool {
		return alive(m) && !goes(m) && (sc.returns(p, m) || p.Kind.Data() != topology.Raft && sc.markedInVain(m))
	}
	switch {
	case goes(beyond[0]):
		return verdict{}
	case counted(beyond[0]), sc.misses(p, beyond):
	case p.Kind.Data() == topology.Raft || !slices.ContainsFunc(beyond, counted):
		return verdict{}
	default:
		if v := sc.vacate(p, beyond[0]); !v.idle() {
			return v
		}
	}
	return act(Resize{Component: p.Kind, From: have, To: have + 1})
}

// markedInVain reports whether a member's claims are marked, and the database goes on to
// count on it: it has joined in the very moment in which it was taken away. Just after a
// removal only old news say so.
func (sc Scope) markedInVain(m state.Member) bool {
	return len(m.Claims) > 0 && !m.NotServing.IsZero() && sc.All.At.Sub(m.NotServing) >= settling
}

// goes reports whether a claim of a member is being deleted. No pod gets it again.
func goes(m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return c.Terminating })
}

// misses reports whether PD cannot do without some of its members that have no pods. A
// StatefulSet has no gaps, so those below such a member come before it, whatever has
// become of their data.
func (sc Scope) misses(p Profile, beyond []state.Member) bool {
	if p.Kind.Data() != topology.Raft {
		return false
	}
	pd := sc.All.PD
	tried, running := sc.tried()
	unheard := tried && !running && pd.Problem != "" && pd.ClusterID != 0
	return slices.ContainsFunc(beyond, func(m state.Member) bool {
		switch {
		case len(m.Claims) == 0 || m.Database.Presence != state.Unknown:
			return false
		case pd.Leaderless:
			return tried || sc.returns(p, m)
		}
		return unheard && sc.returns(p, m)
	})
}

// tried reports whether all members here have had a while to show what they can do, and
// whether any of them runs. If PD has no leader then, or none runs who could be asked,
// some that it counts on must be elsewhere. Those that crash again and again, for want
// of data perhaps, have shown it.
func (sc Scope) tried() (all, running bool) {
	for _, m := range sc.Got.Running() {
		switch {
		case sc.loops(m):
		case m.Pod == nil || m.Pod.Started.IsZero() || sc.All.At.Sub(m.Pod.Started) < settling:
			return false, false
		default:
			running = true
		}
	}
	return true, running
}

// leftovers deals with members beyond the StatefulSet's replicas: pods that are
// still stopping, which it counts, or members that PD still counts on although
// their pods were taken away, with no data to bring them back to.
func (sc Scope) leftovers(p Profile) (v verdict, going int) {
	first := min(sc.Got.Set.Replicas, len(sc.Got.Members))
	for _, m := range sc.Got.Members[first:] {
		switch {
		case m.Pod != nil:
			going++
			v.gates = append(v.gates, sc.departing(m))
		case sc.Kept(m) || m.Database.Presence != state.Present:
		case sc.pursue(p.BeforeRemove, m).idle(): // PD let go of it before, and only remembers
		default:
			return v.and(sc.release(p, m)), going
		}
	}
	return v, going
}

// at is the member of an ordinal, also of one that nothing was seen of.
func (sc Scope) at(ordinal int) state.Member {
	if ordinal < len(sc.Got.Members) {
		return sc.Got.Members[ordinal]
	}
	return state.Member{Kind: sc.Want.Kind, Ordinal: ordinal, Name: sc.Cluster.PodName(sc.Want.Kind, ordinal)}
}

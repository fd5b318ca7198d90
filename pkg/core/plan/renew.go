package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Registering is how long a running process may take to appear in PD.
const Registering = 150 * time.Second

// removalIrreversible reports whether the removal of a member can no longer be cancelled. Either
// its store is a tombstone, or PD has forgotten the member after its claims were marked. With its
// data it can never serve again.
func removalIrreversible(m state.Member) bool {
	return m.Database.Removed() ||
		m.Database.Presence == state.Absent && m.Marked()
}

// replaceLostData gives wanted members new data whose own data can never serve again. The claims are deleted
// first, while the pods still use them. Kubernetes keeps a claim that is in use, but gives such a
// claim to no other pod. Then the pods are deleted, and Kubernetes creates both again.
//
// A voter with new data is a new voter, so all others have to serve. A member that serves
// and must get new data comes last: with OrderedReady, other members may wait for one
// that is recreated before it.
func (sc Scope) replaceLostData(p Profile) verdict {
	var v verdict
	members := sc.Got.BelowReplicas()
	if i := slices.IndexFunc(members, renewed); p.Kind.Data() == topology.Raft && i >= 0 {
		members = members[:i+1] // one at a time
	}
	for _, m := range members {
		if sc.renewable(p, m) {
			v = v.plus(sc.withNewData(p, m))
		}
	}
	if p.Kind.Data() == topology.Raft && !v.idle() {
		return v
	}
	for _, m := range members {
		if sc.mustReplaceData(p, m) {
			return v.plus(sc.replaceData(p, m))
		}
	}
	return v
}

// renewed reports whether a member is getting new data, or is the next one to get it. A member
// whose pod cannot start is not, and no member above it waits for that.
func renewed(m state.Member) bool {
	return removalIrreversible(m) && (m.Pod == nil || m.Pod.Ran)
}

// dataBeingDeleted reports whether the database counts on the member's data, as far as known, while
// its claims are being deleted. The member serves, but only until its pod is deleted for whatever
// reason. Then a copy of its data is lost. PD counts for ever on a member without data, and accepts
// no new member in its place. This happens when a voter joins while it is being recreated, or when
// the claim of a member that serves is deleted by hand.
func dataBeingDeleted(p Profile, m state.Member) bool {
	return p.Kind.Data() != topology.None && m.Pod != nil && m.Database.Presence != state.Absent &&
		!m.Database.Removed() && claimBeingDeleted(m) != ""
}

// claimBeingDeleted returns a claim that is being deleted while the member's pod uses it,
// "" when there is none.
func claimBeingDeleted(m state.Member) string {
	for _, c := range m.Claims {
		if c.Terminating && slices.Contains(m.Pod.Claims, c.Name) {
			return c.Name
		}
	}
	return ""
}

// mustReplaceData reports whether a member whose data is being deleted is to be removed from PD
// now. Then it is recreated with new data. A member that serves, and a store that is down, stay
// until the members that take over their data are there. Without these members the data has no
// other place. A voter that is down does not wait: PD accepts no new member as long as it lists
// that voter.
func (sc Scope) mustReplaceData(p Profile, m state.Member) bool {
	return dataBeingDeleted(p, m) && sc.Kept(m) && m.Database.Presence == state.Present &&
		(!m.Up() && p.Kind.Data() == topology.Raft || sc.Want.Size() <= sc.Got.Set.Replicas)
}

// replaceData removes such a member from PD, and says why: the user has not asked for it.
func (sc Scope) replaceData(p Profile, m state.Member) verdict {
	v := sc.release(p, m)
	for i := range v.gates {
		if g := &v.gates[i]; g.Member == m.Name {
			g.Observed = strings.TrimPrefix(g.Observed+"; its claim "+claimBeingDeleted(m)+" is being deleted", "; ")
		}
	}
	return v
}

// claimsStay must hold before pods are deleted that come back later. With the pod of a
// dataBeingDeleted member its data would be deleted. If the pod is being deleted already, its data
// cannot be kept.
func (sc Scope) claimsStay(p Profile) verdict {
	var v verdict
	for _, m := range sc.Got.Members {
		if dataBeingDeleted(p, m) && !m.Pod.Terminating {
			v.gates = append(v.gates, Gate{
				Component: p.Kind, Member: m.Name, Reason: ClaimBeingDeleted, Want: "no claim being deleted", Blocked: true,
				Observed: "claim " + claimBeingDeleted(m) + " is being deleted, and goes with its pod",
				Remedy:   remedy.Remedy{remedy.Say("resume " + p.Kind.Title() + ", so that others take over what the member has")},
			})
		}
	}
	return v
}

func (sc Scope) renewable(p Profile, m state.Member) bool {
	return p.BeforeRenew != nil && (sc.Kept(m) || sc.holdsUp(m)) && len(m.Claims) > 0 &&
		m.Pod != nil && !m.Pod.Terminating && sc.cannotComeBack(p, m)
}

// holdsUp reports whether Kubernetes creates the pod of another member only after this member is
// Ready. The database must count on the other member. Two stores that leave may have regions that
// no other store has, and no third store gets these before one of the two runs.
func (sc Scope) holdsUp(m state.Member) bool {
	return slices.ContainsFunc(sc.Got.BelowReplicas(), func(o state.Member) bool {
		return sc.WaitsFor(o, m) && countedOn(o)
	})
}

// cannotComeBack reports whether the member's process can do nothing to serve again. A tombstone
// stays one. A member that PD does not list may be about to join for the first time. Its claims
// must not be deleted while it does. That is excluded if it has run for long, or crashes, while all
// others serve.
func (sc Scope) cannotComeBack(p Profile, m state.Member) bool {
	switch {
	case m.Database.Removed():
		return true
	case p.Kind.Data() != topology.Raft || !removalIrreversible(m) || !m.Pod.Ran:
		return false
	}
	running := !m.Pod.Started.IsZero()
	return (!running || sc.All.At.Sub(m.Pod.Started) >= Registering) && sc.missing(p, m).idle()
}

// storeForgotten reports whether only a scale-in followed by a scale-out helps the member. That is
// possible for the highest ordinal only. PD does not list the store any more, so the store may
// register just when its claims are deleted.
func (sc Scope) storeForgotten(p Profile, m state.Member) bool {
	return p.Kind.Data() == topology.Store && removalIrreversible(m) && !m.Database.Removed()
}

func (sc Scope) withNewData(p Profile, m state.Member) verdict {
	if v := sc.pursue(p.BeforeRenew, m); !v.idle() {
		return v
	}
	for _, c := range m.Claims {
		if !c.Terminating {
			return act(DeleteClaim{Component: p.Kind, Member: m.Name, Name: c.Name, UID: c.UID, PodUID: m.Pod.UID})
		}
	}
	return act(DeletePod{Component: p.Kind, Member: m.Name, UID: m.Pod.UID})
}

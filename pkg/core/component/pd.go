package component

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// PD's members vote. To remove one, or to add one that does not start, can cost the quorum, and
// then the whole cluster stops.
func PD() plan.Profile {
	return plan.Profile{
		Kind: topology.PD,
		Floor: func(plan.Scope) (least int, why string, help remedy.Remedy) {
			return 1, "the last member holds the cluster's metadata", nil
		},
		BeforeRestart: []plan.Hook{quorumStays, leaderElsewhere, leaderAhead},
		// Claims are marked before the member is removed. In the other order, a scale-in that is
		// cancelled in between would leave a pod whose data PD has forgotten. Such a pod would look
		// like a pod that is about to join.
		BeforeRemove:  []plan.Hook{quorumIfItJoins, notTheLast, quorumRemains, successorThere, leaderMoved, plan.LeftoverMarked, memberRemoved},
		BeforeRenew:   []plan.Hook{plan.LeftoverMarked},
		BeforeSuspend: []plan.Hook{claimsKept, evictionsEnded},
		Failover: &plan.Failover{
			Period:             func(plan.Scope) time.Duration { return failoverPeriod },
			Spare:              spareMember,
			RemoveFromDatabase: []plan.Hook{quorumRemains, memberRemoved},
		},
	}
}

// spareMember returns the reason not to give a member up. PD cannot remove a member that it
// does not know, and without a quorum it cannot remove any.
//
// An initial member that has never started is not lost as long as Kubernetes keeps its process from
// running. A user who knows that it will never start, for example because its disk is lost, need
// not wait.
func spareMember(sc plan.Scope, m state.Member, now bool) string {
	switch {
	case !sc.All.PD.Serving():
		return "PD does not serve: " + pdState(sc)
	case !now && joins(m) && sc.All.At.Sub(sc.PDServesSince()) < failoverPeriod:
		return fmt.Sprintf("it may be about to join, and PD serves for less than %s", failoverPeriod)
	case sc.OfOtherCluster(m):
		return "its claim says that its data is of another cluster"
	case m.Database.Presence == state.Absent && m.Pod != nil && (m.Pod.Ran || m.LacksVolume()):
		// It was removed, and cannot join again with its data.
	case m.Database.Presence != state.Present:
		return "it has never joined PD"
	case m.Database.Healthy:
		return "PD says that it is healthy"
	case !now && firstStartAwaited(m):
		return "it has yet to start for the first time, and only --now does not wait for that"
	}
	if why := quorumRemains.Refuse(sc, m); why != "" {
		return "PD cannot remove it: " + why
	}
	if o, ok := unstartedBehind(sc, m); ok {
		return fmt.Sprintf("PD would not let it join again before %s has started, and Kubernetes creates the pod of that one after its own", o.Name)
	}
	return ""
}

// unstartedBehind returns a member of PD that has never started, and waits for the given member.
// Kubernetes creates its pod only when the pod of the given member is Ready.
func unstartedBehind(sc plan.Scope, m state.Member) (state.Member, bool) {
	for _, o := range sc.Got.Members {
		if o.Database.Presence == state.Present && o.Database.Unstarted && sc.WaitsFor(o, m) {
			return o, true
		}
	}
	return state.Member{}, false
}

// firstStartAwaited reports whether an initial member of PD has never run because Kubernetes has
// not started its container.
func firstStartAwaited(m state.Member) bool {
	return m.Database.Unstarted && m.Database.Name != "" && m.Pod != nil && !m.Pod.Ran
}

// joins reports whether the member seems to wait to join PD, or has just joined. While no PD served
// that could have let it join, it was not down but waiting.
func joins(m state.Member) bool {
	if m.Database.Presence == state.Absent {
		return m.Pod != nil && m.Pod.Ran
	}
	return m.Database.Unstarted && m.Database.Name == ""
}

func pdState(sc plan.Scope) string {
	pd := sc.All.PD
	switch {
	case !pd.Known():
		return pd.Problem
	case pd.Leader == "":
		return "no leader"
	}
	return fmt.Sprintf("%d of %d members healthy", pd.Healthy, pd.Members)
}

// quorumStays also counts members of the same PD in other Kubernetes clusters, which no other rule
// does. The goal does not apply to a PD with two members or fewer, which loses its quorum with any
// restart.
var quorumStays = plan.Hook{
	Reason: plan.QuorumWithoutMember, Want: "quorum without it",
	Done: func(sc plan.Scope, m state.Member) bool {
		pd, down := sc.All.PD, 0
		if m.Database.Healthy {
			down = 1
		}
		return pd.Members <= 2 || pd.QuorumWithout(down)
	},
	Observed: func(sc plan.Scope, _ state.Member) string { return pdState(sc) },
	Remedy:   remedy.Remedy{remedy.Say("bring the other members of PD up first, also those in other Kubernetes clusters")},
}

// leaderElsewhere is leaderMoved where that is possible: a PD without another healthy member is
// restarted with its leader.
var leaderElsewhere = plan.Hook{
	Reason: plan.PDLeaderMoved, Want: leaderMoved.Want,
	Done: func(sc plan.Scope, m state.Member) bool {
		_, ok := successor(sc, m)
		return !ok || leaderMoved.Done(sc, m)
	},
	Step:     leaderMoved.Step,
	Observed: leaderMoved.Observed,
}

// leaderAhead is the goal that PD's leader moves as soon as a member was restarted on which
// leadership can stay. The move does not wait for the leader's own turn. A new leader schedules
// nothing before it has heard of most regions, and hears of regions while the other members
// restart. The member with the highest ordinal restarts first. Leadership does not move to this
// member before the leader's own turn, because in the next rollout it would have to move twice.
var leaderAhead = plan.Hook{
	Reason: plan.PDLeaderRestarted, Want: "PD led by a restarted member",
	Done: func(sc plan.Scope, m state.Member) bool {
		from, led := leading(sc)
		to, ok := ownSuccessor(sc, m)
		return !led || !ok || !sc.IsToRestart(from) || sc.IsToRestart(to) || from.Ordinal < m.Ordinal && to.Ordinal == sc.Want.Ordinals().End()-1
	},
	Step: func(sc plan.Scope, _ state.Member) step.Step {
		from, _ := leading(sc)
		return leaderMoved.Step(sc, from)
	},
	Observed: leaderMoved.Observed,
}

// leading returns the member that is PD's leader. It may be in another Kubernetes cluster.
func leading(sc plan.Scope) (state.Member, bool) {
	i := slices.IndexFunc(sc.Got.Members, func(m state.Member) bool { return m.Database.Leader })
	if i < 0 {
		return state.Member{}, false
	}
	return sc.Got.Members[i], true
}

// successorThere holds if another member can lead when the leader is removed.
var successorThere = plan.Hook{
	Reason: plan.PDLeaderMoved, Want: "another member can lead PD",
	Because: "PD has no leader before a member can lead that stays",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if _, ok := successor(sc, m); m.Database.Leader && !ok {
			return "no other member that stays is healthy"
		}
		return ""
	},
	Remedy: remedy.Remedy{remedy.Say("bring another member up first"), remedy.Say("scale PD out")},
}

var leaderMoved = plan.Hook{
	Reason: plan.PDLeaderMoved, Want: "PD led by another member",
	Done: func(sc plan.Scope, m state.Member) bool {
		return !m.Database.Leader && sc.All.PD.Leader != ""
	},
	Step: func(sc plan.Scope, m state.Member) step.Step {
		to, ok := successor(sc, m)
		if !ok || !m.Database.Leader {
			return nil
		}
		return step.MoveLeader{From: m.Name, To: to.pod, FromName: m.Database.Name, ToName: to.name}
	},
	Observed: func(sc plan.Scope, _ state.Member) string {
		if sc.All.PD.Leader == "" {
			return "there is no leader"
		}
		return sc.All.PD.Leader + " leads"
	},
}

// candidate is a member of PD that can lead next: its name in PD, and that of its pod. For a member elsewhere both are
// the name in PD.
type candidate struct{ pod, name string }

// successor returns the member to lead next. Members here come first, because a driver can ask those best. The only
// member of a part has no other choice than a member of another part. Otherwise PD would have no leader for the time of
// its restart.
func successor(sc plan.Scope, m state.Member) (candidate, bool) {
	if own, ok := ownSuccessor(sc, m); ok {
		return candidate{own.Name, own.Database.Name}, true
	}
	for _, v := range sc.All.PD.OtherVoters {
		if v.Healthy {
			return candidate{v.Name, v.Name}, true
		}
	}
	return candidate{}, false
}

// ownSuccessor returns the member here to lead next. A member that was restarted or replaced already comes first, so that
// the leader does not have to move again. Without such a member, the member that will be restarted last leads next.
// Members that are about to be removed do not count.
func ownSuccessor(sc plan.Scope, m state.Member) (state.Member, bool) {
	var best state.Member
	found := false
	goes := func(c state.Member) bool { return sc.IsToRestart(c) || sc.Want.Replaces(c) }
	for _, c := range sc.Got.InSet() {
		if c.Ordinal == m.Ordinal || !canLead(c) || !sc.Kept(c) {
			continue
		}
		if !found || !goes(c) && goes(best) {
			best, found = c, true
		}
	}
	return best, found
}

// canLead reports whether a member can become PD's leader. If a readiness probe is wrong, the
// reports of PD and of the member's own port are better evidence than the report of Kubernetes.
func canLead(m state.Member) bool {
	return m.Up() || m.Pod != nil && !m.Pod.Terminating && m.Database.Healthy && m.Database.Answer == state.Answered
}

var notTheLast = plan.Hook{
	Reason: plan.AnotherMember, Want: "another member",
	Refuse: func(sc plan.Scope, m state.Member) string {
		if m.Database.Presence == state.Present && sc.All.PD.Members == 1 {
			return "this one holds the cluster's metadata"
		}
		return ""
	},
	Remedy: remedy.Remedy{remedy.Say("keep it"), remedy.Say("to replace it, scale PD out first"), remedy.Say("delete the cluster")},
}

// quorumRemains must hold before a member is removed: with the members that stay PD has a quorum. A
// quorum that PD has only between two crashes of a member does not count.
var quorumRemains = plan.Hook{
	Reason: plan.QuorumWithoutMember, Want: "quorum without it",
	Refuse: func(sc plan.Scope, m state.Member) string {
		pd := sc.All.PD
		if m.Database.Presence != state.Present || !pd.Known() {
			return ""
		}
		healthy, looping := pd.Healthy, 0
		for _, o := range sc.Got.Members {
			switch {
			case !o.Database.Healthy:
			case o.Ordinal == m.Ordinal:
				healthy--
			case sc.Loops(o):
				looping++
			}
		}
		rest := pd.Members - 1
		switch {
		case !pd.QuorumAfterRemoval(healthy):
			return fmt.Sprintf("%d of the other %d members healthy", healthy, rest)
		case !pd.QuorumAfterRemoval(healthy - looping):
			return fmt.Sprintf("%d of the other %d members healthy, but %d of them crash again and again", healthy, rest, looping)
		}
		if m.Database.Healthy && !othersHere(sc, m) {
			return "no other member here is healthy, and those elsewhere cannot be asked"
		}
		return ""
	},
	Remedy: remedy.Remedy{remedy.Say("bring the other members up first")},
}

// othersHere reports whether PD can be asked without the member. Members in another
// Kubernetes cluster may be a quorum, but they cannot be asked from here, and no member
// could join.
func othersHere(sc plan.Scope, except state.Member) bool {
	for _, m := range sc.Got.Members {
		if m.Ordinal != except.Ordinal && m.Database.Healthy {
			return true
		}
	}
	return false
}

var memberRemoved = plan.Hook{
	Reason: plan.MemberRemoved, Want: "removed from PD",
	Done: func(_ plan.Scope, m state.Member) bool { return m.Database.Presence == state.Absent },
	Step: func(_ plan.Scope, m state.Member) step.Step {
		if m.Database.Presence != state.Present {
			return nil
		}
		return step.RemoveMember{Member: m.Name, ID: m.Database.ID, Down: !m.Database.Healthy}
	},
}

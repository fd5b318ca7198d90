package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// scaleIn removes the highest ordinals, no more than the user allows to leave at the same time.
// Members leave the database first, and Kubernetes when the database has removed them. Members at
// the top that have left are removed at once, while others below them are still leaving. Their
// claims stay, marked.
func (sc Scope) scaleIn(p Profile) verdict {
	have := sc.Got.Set.Replicas
	open, going := sc.leftovers(p)
	if len(open.gates) > going {
		return open
	}
	if v := sc.about(p, hold{}, state.Member{}).claimsRetained(); !v.idle() {
		return v
	}
	if v := sc.downVoterLeaves(p); !v.idle() {
		return v
	}
	var without []string
	free := 0
	for i := range min(sc.surplus(p), sc.leavers(p)-going) {
		v := sc.release(p, sc.memberAt(have-1-i))
		if v.idle() && free == i {
			free++
			if sc.memberAt(have - 1 - i).Up() {
				without = append(without, v.notes...)
			}
		}
		open = open.plus(v)
	}
	if free > 0 {
		return act(sc.smaller(p, free, strings.Join(without, ", ")))
	}
	return open
}

// downVoterLeaves removes from PD a leaving member that surely does not serve, before members above it that serve. Its
// vote counts for the size of a quorum until then. PD might have no quorum without a member above it, and no member
// could ever leave. Its pod goes in its turn. Where no member here is to stay, the last one cannot leave anyway.
func (sc Scope) downVoterLeaves(p Profile) verdict {
	have, surplus := sc.Got.Set.Replicas, sc.surplus(p)
	if p.Kind.Data() != topology.Raft || surplus >= have {
		return verdict{}
	}
	for i := have - 2; i >= have-surplus; i-- {
		if m := sc.memberAt(i); m.Database.Presence == state.Present && sc.SurelyDown(m) && sc.memberAt(have-1).Database.Healthy {
			return sc.release(p, m)
		}
	}
	return verdict{}
}

// surplus returns how many of the highest ordinals are to be removed. These are members that are not wanted, and a
// store that only a scale-out can bring back after that.
func (sc Scope) surplus(p Profile) int {
	have := sc.Got.Set.Replicas
	surplus := have - sc.Want.Size()
	if have > 0 && sc.storeForgotten(p, sc.memberAt(have-1)) {
		return max(surplus, 1)
	}
	return surplus
}

// dropSurplus removes the highest ordinal, if it is to be removed and nothing is lost with it. One that
// is to come back waits until others are gone.
func (sc Scope) dropSurplus(p Profile) verdict {
	have := sc.Got.Set.Replicas
	_, going := sc.leftovers(p)
	if sc.surplus(p) <= 0 || have <= sc.Want.Size() && going > 0 || !sc.nothingLost(p, sc.memberAt(have-1)) {
		return verdict{}
	}
	if v := sc.claimsDeleted("whenScaled", sc.Got.Set.DeletesWhenScaled); !v.idle() {
		return v
	}
	if v := sc.release(p, sc.memberAt(have-1)); !v.idle() {
		return v
	}
	return act(sc.smaller(p, 1, ""))
}

// smaller is the step that has the highest ordinals leave.
func (sc Scope) smaller(p Profile, by int, without string) Resize {
	have := sc.Got.Set.Replicas
	step := Resize{Component: p.Kind, Basis: sc.basis(), From: have, To: have - by, Without: without}
	for i := step.To; i < have; i++ {
		uid := ""
		if pod := sc.memberAt(i).Pod; pod != nil {
			uid = pod.UID
		}
		step.PodUIDs = append(step.PodUIDs, uid)
	}
	return step
}

// leavers returns how many members may leave at the same time.
func (sc Scope) leavers(p Profile) int {
	if p.Kind.Data() == topology.Raft {
		return 1
	}
	return max(sc.Want.ScaleIn, 1)
}

// beforeScaleIn must hold before a scale-in takes a member, in this order.
var beforeScaleIn = []condition{
	{want: "member is not wanted", because: "only a person lowers the replicas", by: ByPerson, unmet: (*subject).whyWanted},
	{want: "its turn to leave", because: "a StatefulSet removes its pods from the highest ordinal down", by: ByTool, unmet: (*subject).notYetLeaving},
	{want: "claims stay when their pods go", because: "data is deleted only if a person says so", by: ByPerson, waits: (*subject).claimsRetained},
}

// Before a removal the others must serve, and then the database must have done without the member.
var (
	othersStay = condition{
		want: "all other members serving", because: "no member is removed while another one is missing", by: ByKubernetes,
		waits: func(s *subject) verdict {
			if s.nothingLost(s.profile, s.member) {
				return verdict{}
			}
			return s.missing(s.profile, s.member)
		},
	}
	leftDatabase = condition{
		because: "the database does without the member before its pod goes", by: ByDatabase,
		goals: func(p *Profile) []Hook { return p.BeforeRemove },
	}
)

// whyWanted returns by what a member is wanted, "" when it is to be removed.
func (s *subject) whyWanted() string {
	have := s.Got.Set.Replicas
	is := s.member.Ordinal < have-s.surplus(s.profile)
	return unless(is, fmt.Sprintf("%d members are wanted", s.Want.Size()))
}

// notYetLeaving returns how many members leave at the same time, "" where the member is one of them.
func (s *subject) notYetLeaving() string {
	_, going := s.leftovers(s.profile)
	before := s.Got.Set.Replicas - 1 - s.member.Ordinal
	return unless(before >= s.leavers(s.profile)-going, fmt.Sprintf("members that leave at the same time: at most %d", s.leavers(s.profile)))
}

// claimsRetained waits while Kubernetes would delete the claims of members that are to be removed.
func (s *subject) claimsRetained() verdict {
	return s.claimsDeleted("whenScaled", s.surplus(s.profile) > 0 && s.Got.Set.DeletesWhenScaled)
}

// release removes a member from the database, while all members that stay serve. Members that are
// to leave need not serve, nor members that can never serve again. Otherwise such a member would
// prevent the removal of all members above it for ever. A removal that costs nothing, or is under
// way already, waits for no member.
func (sc Scope) release(p Profile, m state.Member) verdict {
	about := sc.about(p, hold{}, m)
	v, missing := leftDatabase.ask(about), othersStay.ask(about)
	switch {
	case missing.idle():
		return v
	case v.waiting() && m.Database.Presence == state.Present:
		return v.plus(missing)
	}
	return missing
}

// waiting reports whether there is no step, and what is waited for, if anything, may come
// by itself.
func (v verdict) waiting() bool {
	for _, g := range v.gates {
		if g.Blocked {
			return false
		}
	}
	return len(v.steps) == 0
}

// nothingLost reports whether nothing is lost with the member, because the database does not count
// on it. It never joined, or was removed, or keeps no data and does not serve. Nothing is lost either with
// a member that never starts, or with one without a pod whose data was deleted with its claim.
func (sc Scope) nothingLost(p Profile, m state.Member) bool {
	switch {
	case p.Kind.Data() == topology.None:
		return sc.restartIsHarmless(p, m)
	case countedOn(m) && (sc.neverStarts(m) || m.Pod == nil && sc.claimGone(m)):
		return true
	}
	return m.Database.Presence == state.Absent || m.Database.Removed()
}

// neverStarts reports whether PD has added a member that has never started, and that is not about to. It has no pod, or
// a pod that has not changed for ten minutes. As long as PD waits for such a member, PD lets no other member join. So
// members that wait to join must not be waited for.
func (sc Scope) neverStarts(m state.Member) bool {
	d := m.Database
	return d.Unstarted && !d.Healthy && (m.Pod == nil || sc.All.At.Sub(sc.unchangedSince(m)) >= TimeToServe)
}

// claimGone reports whether the claim with a member's data is gone. Without such a claim
// template the data is elsewhere, for example on the disk of a node.
func (sc Scope) claimGone(m state.Member) bool {
	_, claimed := sc.Got.Set.Volumes[m.Kind.DataVolume()]
	return claimed && len(m.Claims) == 0
}

// missing waits for the peers of a member. It does not wait for peers whose pods Kubernetes creates
// only after the member is Ready. A pod that was Ready a moment ago may be Ready again, however
// often the pod has crashed, and then the peers are created. It does not wait either for peers that
// the database has removed, except where a voter is to go that may serve. Until the removed voter
// has joined again, PD has one vote less than the user wants, and two less without the voter to go. A voter that was
// given up has a replacement. A member that has never joined was not removed: its claims may be marked since the user
// did not want it for a moment.
func (sc Scope) missing(p Profile, except state.Member) verdict {
	var peers []state.Member
	pod := except.Pod
	lasting := pod == nil || !pod.Ready && sc.All.At.Sub(pod.Since) >= settling
	votes := except.Kind.Data() == topology.Raft && countedOn(except) && !sc.SurelyDown(except)
	for _, m := range sc.voting(sc.Got.BelowReplicas()) {
		removed := removalIrreversible(m) && (m.Database.Presence == state.Present || wasKnown(p, m))
		if sc.Kept(m) && (votes || !removed) && (!sc.WaitsFor(m, except) || !lasting) {
			peers = append(peers, m)
		}
	}
	return membersDown(sc, peers, &except)
}

// restoreScaledDown brings back members whose pods others have taken away by lowering the replicas. Members
// come back one after the other, while the database counts on them and the data exists. Without
// several such stores regions may have no quorum, and without such voters PD may have none. Nothing
// can be moved off such members before they run again. Members that are not wanted leave afterwards
// in the usual way. The claims of a member that this tool removes are marked before its pod is
// deleted. So such a member is not brought back, unless PD counts on it nevertheless, because it
// may have joined at the same time. A StatefulSet cannot skip an ordinal. So a store comes back
// after all members below it, also after a member that has lost its data.
func (sc Scope) restoreScaledDown(p Profile) verdict {
	have := sc.Got.Set.Replicas
	if have >= len(sc.Got.Members) {
		return verdict{}
	}
	above := sc.Got.Members[have:]
	counted := func(m state.Member) bool {
		return countedOn(m) && !losesClaim(m) && (sc.comesBack(p, m) || p.Kind.Data() != topology.Raft && sc.markedButCounted(m))
	}
	switch {
	case losesClaim(above[0]):
		return verdict{}
	case counted(above[0]), sc.pdNeeds(p, above):
	case p.Kind.Data() == topology.Raft || !slices.ContainsFunc(above, counted):
		return verdict{}
	default:
		if v := sc.clearOrdinal(p, above[0]); !v.idle() {
			return v
		}
	}
	return act(Resize{Component: p.Kind, Basis: sc.basis(), From: have, To: have + 1})
}

// markedButCounted reports whether a member's claims are marked while the database counts on it.
// The member joined just when it was removed. Just after a removal, reports that still list it may
// be old.
func (sc Scope) markedButCounted(m state.Member) bool {
	return len(m.Claims) > 0 && !m.NotServing.IsZero() && sc.All.At.Sub(m.NotServing) >= settling
}

// losesClaim reports whether a claim of a member is being deleted. No pod gets it again.
func losesClaim(m state.Member) bool {
	return slices.ContainsFunc(m.Claims, func(c state.Claim) bool { return c.Terminating })
}

// pdNeeds reports whether PD has no quorum without some of its members that have no pods. A
// StatefulSet cannot skip an ordinal, so all members below such a member come back first, whatever
// state their data is in.
func (sc Scope) pdNeeds(p Profile, above []state.Member) bool {
	if p.Kind.Data() != topology.Raft {
		return false
	}
	pd := sc.All.PD
	tried, running := sc.allTried()
	unheard := tried && !running && pd.Problem != "" && len(pd.Unreached) == 0 && pd.ClusterID != 0
	return slices.ContainsFunc(above, func(m state.Member) bool {
		switch {
		case len(m.Claims) == 0 || m.Database.Presence != state.Unknown:
			return false
		case pd.Leaderless:
			return tried || sc.comesBack(p, m)
		}
		return unheard
	})
}

// allTried reports whether all members here have had time to start, and whether any of them runs.
// If PD then has no leader, or no member that runs can be asked, some that it counts on must be
// elsewhere. Members that crash again and again, perhaps because they have no data, have had that
// time.
func (sc Scope) allTried() (all, running bool) {
	for _, m := range sc.Got.BelowReplicas() {
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

// leftovers handles members above the StatefulSet's replicas. Some have pods that are still
// stopping, which the StatefulSet counts. PD still counts on others although their pods were taken
// away and no data is left to bring the members back with. A pod and its claim may be made in the
// very moment in which their ordinal is removed. Unless the claim is marked, it is not known later
// that no data of a store is on it.
func (sc Scope) leftovers(p Profile) (v verdict, going int) {
	first := min(sc.Got.Set.Replicas, len(sc.Got.Members))
	for _, m := range sc.Got.Members[first:] {
		switch {
		case m.Pod != nil:
			going++
			v.gates = append(v.gates, sc.removedPod(m))
			if !sc.Kept(m) && m.Database.Presence == state.Absent {
				v = v.plus(sc.pursue([]Hook{LeftoverMarked}, m))
			}
		case sc.Kept(m) || m.Database.Presence != state.Present:
		case sc.pursue(p.BeforeRemove, m).idle(): // PD has removed it, and lists it only as removed
		default:
			return v.plus(sc.release(p, m)), going
		}
	}
	return v, going
}

// memberAt returns the member of an ordinal, also if nothing was observed of it.
func (sc Scope) memberAt(ordinal int) state.Member {
	if ordinal < len(sc.Got.Members) {
		return sc.Got.Members[ordinal]
	}
	return state.Member{Kind: sc.Want.Kind, Ordinal: ordinal, Name: sc.Cluster.PodName(sc.Want.Kind, ordinal)}
}

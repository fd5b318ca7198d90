package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/facts"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// scaleIn removes the highest ordinals, or those in slots, no more than the user allows to leave at the same time.
// Members leave the database first, and Kubernetes when the database has removed them. Members at
// the top that have left are removed at once, while others below them are still leaving. Their
// claims stay, marked.
func (d *decision) scaleIn() verdict {
	open, going := d.leftovers()
	if len(open.gates) > going {
		return open
	}
	if v := d.about(state.Member{}).claimsRetained(); !v.idle() {
		return v
	}
	if len(d.Surplus()) < d.Got.Set.Replicas { // else no member here is to stay, and the last one cannot leave
		if v := d.downVoterLeaves(); !v.idle() {
			return v
		}
	}
	var without []string
	surplus := d.Surplus()
	free, most := 0, max(min(len(surplus), d.leavers()-going), 0)
	for i, top := range surplus[:most] {
		if first, waits := d.leavesBefore(top, most); waits {
			open = open.plus(d.release(first))
			break
		}
		v := d.release(top)
		if v.idle() && free == i {
			free++
			if top.Up() {
				without = append(without, v.notes...)
			}
		}
		open = open.plus(v)
	}
	if free > 0 {
		return act(d.smaller(free, strings.Join(without, ", ")))
	}
	return open
}

// leavesBefore returns a store that has to be empty before a member above it begins to leave. The store is offline
// already, by a request that was sent late or by a person, or because other members have been wanted since. Otherwise
// PD would move the regions of more stores at once than the user allows, which most says.
func (d *decision) leavesBefore(m state.Member, most int) (state.Member, bool) {
	if m.Database.State == state.StoreOffline || d.NothingLost(m) {
		return state.Member{}, false
	}
	surplus := d.Surplus()
	var begun []state.Member
	for _, o := range surplus[turn(surplus, m)+1:] {
		if o.Database.State == state.StoreOffline {
			begun = append(begun, o)
		}
	}
	if before := turn(surplus, m); len(begun) > 0 && before+len(begun) >= most {
		return begun[0], true
	}
	return state.Member{}, false
}

// turn returns how many of the members that are to be removed leave before a member. It returns -1 for a member that
// stays.
func turn(surplus []state.Member, m state.Member) int {
	return slices.IndexFunc(surplus, func(o state.Member) bool { return o.Ordinal == m.Ordinal })
}

// downVoterLeaves removes from PD a leaving member that surely does not serve. That comes before a member that serves
// leaves or is replaced, and before a member joins. The vote counts for the size of a quorum until then. PD might have no
// quorum without a member that serves, and no member could ever leave or join. The pod goes in its turn.
func (d *decision) downVoterLeaves() verdict {
	if m, found := d.downVoter(); found {
		return d.release(m)
	}
	return verdict{}
}

// downVoter returns the first voter that is to leave and surely does not serve, and reports whether there is one. A voter
// whose pod is gone already may be above the replicas of the StatefulSet.
func (d *decision) downVoter() (state.Member, bool) {
	gone := slices.DeleteFunc(d.Got.OutsideSet(), func(m state.Member) bool { return m.Pod != nil || d.Kept(m) })
	for _, m := range slices.Concat(d.Surplus(), gone) {
		if m.Kind.Data() == topology.Raft && m.Database.Presence == state.Present && d.SurelyDown(m) {
			return m, true
		}
	}
	return state.Member{}, false
}

// dropSurplus removes the member that leaves first, if nothing is lost with that member. A member that is to come back
// waits until other members are gone.
func (d *decision) dropSurplus() verdict {
	surplus := d.Surplus()
	_, going := d.leftovers()
	if len(surplus) == 0 || d.Kept(surplus[0]) && going > 0 || !d.NothingLost(surplus[0]) {
		return verdict{}
	}
	if v := d.claimsDeleted("whenScaled", d.Got.Set.DeletesWhenScaled); !v.idle() {
		return v
	}
	if v := d.release(surplus[0]); !v.idle() {
		return v
	}
	return act(d.smaller(1, ""))
}

// smaller is the step that has the first members of the surplus leave.
func (d *decision) smaller(by int, without string) step.Resize {
	leaving := d.Surplus()[:by]
	s := d.resized(nil, leaving)
	s.Without = without
	for _, m := range leaving {
		uid := ""
		if m.Pod != nil {
			uid = m.Pod.UID
		}
		s.Leaving = append(s.Leaving, step.PodRef{Name: m.Name, UID: uid})
	}
	return s
}

// leavers returns how many members may leave at the same time.
func (sc Scope) leavers() int {
	if sc.Want.Kind.Data() == topology.Raft {
		return 1
	}
	return max(sc.Want.ScaleIn, 1)
}

// beforeScaleIn must hold before a scale-in takes a member, in this order.
var beforeScaleIn = []condition{
	{want: "member is not wanted", because: "only a person lowers the replicas", by: ByPerson, unmet: (*subject).whyWanted},
	{want: "its turn to leave", because: "members leave in turn, the highest ordinal first where no slots are wanted", by: ByTool, unmet: (*subject).notYetLeaving},
	{want: "claims stay when their pods go", because: "data is deleted only if a person says so", by: ByPerson, waits: (*subject).claimsRetained},
}

// Before a removal the others must serve, and then the database must have done without the member.
var (
	othersStay = condition{
		want: "all other members serving", because: "no member is removed while another one is missing", by: ByKubernetes,
		waits: func(s *subject) verdict {
			if s.NothingLost(s.member) {
				return verdict{}
			}
			return s.awaitServing(s.StayersMissing(s.member))
		},
	}
	leftDatabase = condition{
		because: "the database does without the member before its pod goes", by: ByDatabase,
		goals: func(p *Profile) []Hook { return p.BeforeRemove },
	}
)

// whyWanted returns by what a member is wanted, "" when it is to be removed.
func (s *subject) whyWanted() string {
	return textIf(s.Kept(s.member) && turn(s.Surplus(), s.member) < 0, fmt.Sprintf("%d members are wanted", s.Want.Size()))
}

// notYetLeaving returns which members leave first, "" where the member may leave now.
func (s *subject) notYetLeaving() string {
	if down, found := s.downVoter(); found && down.Ordinal == s.member.Ordinal {
		return ""
	}
	_, going := s.leftovers()
	most := s.leavers() - going
	if turn(s.Surplus(), s.member) >= most {
		return fmt.Sprintf("members that leave at the same time: at most %d", s.leavers())
	}
	first, waits := s.leavesBefore(s.member, most)
	return textIf(waits, first.Name+" is offline already, and leaves first")
}

// claimsRetained waits while Kubernetes would delete the claims of members that are to be removed.
func (s *subject) claimsRetained() verdict {
	return s.claimsDeleted("whenScaled", len(s.Surplus()) > 0 && s.Got.Set.DeletesWhenScaled)
}

// release removes a member from the database, while all members that stay serve. Members that are
// to leave need not serve, nor members that can never serve again. Otherwise such a member would
// prevent the removal of all members above it for ever. A removal that costs nothing, or is under
// way already, waits for no member.
func (d *decision) release(m state.Member) verdict {
	about := d.about(m)
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

// restoreScaledDown brings back members whose pods others have taken away by lowering the replicas. Members
// come back one after the other, while the database counts on them and the data exists. Without
// several such stores regions may have no quorum, and without such voters PD may have none. Nothing
// can be moved off such members before they run again. Members that are not wanted leave afterwards
// in the usual way. The claims of a member that this tool removes are marked before its pod is
// deleted. So such a member is not brought back, unless PD counts on it nevertheless, because it
// may have joined at the same time. Ordinals that are no slots are not skipped. So a store comes back
// after all members below it, also after a member that has lost its data.
func (d *decision) restoreScaledDown() verdict {
	above := d.MembersAbove()
	if len(above) == 0 {
		return verdict{}
	}
	switch {
	case above[0].LosesClaim():
		return verdict{}
	case d.CountedWithData(above[0]), d.PDNeeds(above):
	case d.Want.Kind.Data() == topology.Raft || !slices.ContainsFunc(above, d.CountedWithData):
		return verdict{}
	default:
		if v := d.clearOrdinal(above[0]); !v.idle() {
			return v
		}
	}
	return act(d.resized(above[:1], nil))
}

// awaitNewReports waits before a store with a marked claim is brought back, because a report that still lists the store
// may be old. A run that ended before, because a person has to do something about another store, would not remember the
// time. The next run would begin again, and the other store may wait for this one.
func (d *decision) awaitNewReports(v verdict) verdict {
	if len(v.steps) > 0 || d.Want.Kind.Data() != topology.Store {
		return v
	}
	for _, m := range d.Got.OutsideSet() {
		returns := m.Pod == nil && m.CountedOn() && m.Marked() && !m.LosesClaim()
		if returns && !m.NotServing.IsZero() && !d.MarkedButCounted(m) {
			v.gates = append(v.gates, d.untilDeadline(m, "comes back", m.NotServing, m.NotServing.Add(facts.Settling)))
		}
	}
	return v
}

// leftovers handles members above the StatefulSet's replicas. Some have pods that are still
// stopping, which the StatefulSet counts. PD still counts on others although their pods were taken
// away and no data is left to bring the members back with. A pod and its claim may be made in the
// very moment in which their ordinal is removed. Unless the claim is marked, it is not known later
// that no data of a store is on it.
func (d *decision) leftovers() (v verdict, going int) {
	for _, m := range d.Got.OutsideSet() {
		switch {
		case m.Pod != nil:
			going++
			v.gates = append(v.gates, d.removedPod(m))
			if !d.Kept(m) && m.Database.Presence == state.Absent {
				v = v.plus(d.pursue([]Hook{LeftoverMarked}, m))
			}
		case d.Kept(m) || m.Database.Presence != state.Present:
		case d.pursue(d.profile.BeforeRemove, m).idle(): // PD has removed it, and lists it only as removed
		default:
			return v.plus(d.release(m)), going
		}
	}
	return v, going
}

package sim

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What members of PD say themselves, and what is known of a PD that does not answer. The rules are those of
// package state, so that the engine is shown the same as by package observe.

// reached reports whether PD can be asked: a member of ours takes part, and the leader confirms that it leads. One in
// another Kubernetes cluster is taken to do so, as where connections are direct.
func (w *Model) reached() bool {
	if p := w.leadersPod(); p != nil && w.unanswered(p) {
		return false
	}
	for _, m := range w.pd.members {
		if m.ordinal >= 0 && w.alive(m) {
			return true
		}
	}
	return false
}

// election is how many seconds PD may be without a leader before that means anything.
const election = 20

// unansweredPD is what is known of a PD whose leader has not answered.
func (w *Model) unansweredPD() state.PD {
	out := state.PD{Problem: errNoPD.Error()}
	if say := w.voters(); say != nil {
		out = state.Unanswered(say)
		out.Committed = w.memory.committedUpTo(out.Committed)
	}
	out.ClusterID = w.recorded
	return out
}

// voters are PD's members as package voters reads them, nil where none of them answers us.
func (w *Model) voters() state.Voters {
	if w.t < w.pd.silentUntil {
		return nil
	}
	var leads string
	all, answered := make(state.Voters, 0, len(w.pd.members)), false
	for n, m := range w.listed() {
		v := state.Voter{Name: fmt.Sprintf("elsewhere-%d", n)}
		if m.ordinal >= 0 {
			v.Name = w.names[pd][m.ordinal]
			v.Answered, v.Stopped = w.speaks(m)
		}
		if v.Answered {
			v.Committed = m.committed
		}
		if m.id == w.pd.leader {
			leads = v.Name
		}
		answered = answered || v.Answered
		all = append(all, v)
	}
	if !answered {
		return nil
	}
	last := all.Committed()
	for i := range all {
		all[i].CaughtUp = all[i].Answered && all[i].Committed >= last
		if m := w.pd.members; w.hasQuorum() && all[i].Answered && w.alive(m[i]) {
			all[i].Follows = leads
		}
	}
	return all
}

// listed are the members that members list. Before there is a PD, these are the members that should found it.
func (w *Model) listed() []pdMember {
	if len(w.pd.members) > 0 {
		return w.pd.members
	}
	var founders []pdMember
	for i := range w.sets[pd].spec.each() {
		founders = append(founders, pdMember{ordinal: i})
	}
	return founders
}

// speaks reports whether a member answers for itself, and whether its process is known not to run. The process does not
// run if the member has no pod, or its port refuses the connection. The kubelet of a host that Kubernetes hears of may
// also say so. A member that runs and does not serve says that it follows none.
func (w *Model) speaks(m pdMember) (answers, stopped bool) {
	p := w.pods[pd][m.ordinal]
	switch {
	case p == nil:
		return false, true
	case p.running && p.flaw == deaf && !w.unanswered(p):
		return true, false
	case w.memberAnswers(m, p) == state.Answered:
		return true, false
	case w.memberAnswers(m, p) == state.Refused:
		return false, true
	}
	heard := p.lost <= w.t && p.unseen <= w.t && p.unreported <= w.t
	return false, !p.running && heard && w.t-max(p.since, p.last[1]) >= reportsWithin
}

// reportsWithin is how many seconds after its last report a kubelet is known to be heard, as in package voters.
const reportsWithin = 60

// spared is what package act asks PD before a member of PD is restarted.
func (w *Model) spared(s step.Restart, p *pod) error {
	if kindOf(s.Component).data() != topology.Raft || p == nil {
		return nil
	}
	say := w.voters()
	switch {
	case s.Leaderless && say.Committed() > s.Committed:
		return errConflict
	case s.Leaderless && (say.Leaderless() || slices.Contains(say.Unled(), s.Member)):
		return nil
	case !s.Leaderless && (say.Spares(s.Member) || w.healthyWithout(w.numberOf(s.Ordinal))):
		return nil
	}
	v, _ := say.Of(s.Member)
	refuses := !w.unanswered(p) && !v.Answered
	if v.Follows == "" && (!w.addressed(p) || refuses || v.Stopped) {
		return nil
	}
	return errConflict
}

// healthyWithout reports whether PD's leader calls enough other members healthy.
func (w *Model) healthyWithout(ordinal int) bool {
	if !w.known() || w.pd.leader == 0 {
		return false
	}
	left := 0
	for _, m := range w.pd.members {
		if m.ordinal != ordinal && w.pinged(m) {
			left++
		}
	}
	return len(w.pd.members) <= 2 || left >= w.pd.quorum()
}

// withoutLeader remembers since when this process has observed that PD has no leader. In an election there is no leader
// either, and two elections with a while in between are two. When another member begins to answer, an election may have
// begun.
func (w *Model) withoutLeader(s *state.Snapshot) {
	if w.t-w.memory.unledAt > 45 {
		w.memory.leaderless, w.memory.unled = 0, nil
	}
	w.memory.unledAt = w.t
	another := slices.ContainsFunc(s.PD.Unled, func(name string) bool { return w.memory.unled[name] == 0 })
	next, lasting := map[string]int64{}, []string(nil)
	for _, name := range s.PD.Unled {
		if next[name] = w.memory.unled[name]; another {
			next[name], w.memory.leaderless = w.t, 0
		}
		if w.t-next[name] > election {
			lasting = append(lasting, name)
		}
	}
	s.PD.Electing = len(lasting) < len(s.PD.Unled)
	w.memory.unled, s.PD.Unled = next, lasting
	since := w.since(&w.memory.leaderless, s.PD.Leaderless)
	lasts := s.PD.Leaderless && w.Now().Sub(since).Seconds() > election
	s.PD.Leaderless, s.PD.Electing = lasts, s.PD.Electing || s.PD.Leaderless && !lasts
}

// committedUpTo begins to count again where PD had a leader since the members were asked last: their log has grown.
func (m *memory) committedUpTo(last uint64) uint64 {
	if last > m.committed {
		m.leaderless, m.unled = 0, nil
	}
	m.committed = max(m.committed, last)
	return m.committed
}

// leadersPod is the pod of PD's leader, nil where it has none here.
func (w *Model) leadersPod() *pod {
	if m := w.pd.member(w.pd.leader); m != nil && m.ordinal >= 0 {
		return w.pods[pd][m.ordinal]
	}
	return nil
}

// cutLeader breaks the connection to the kubelet of the host of PD's leader, which goes on leading.
func (w *Model) cutLeader(seconds int64) {
	if p := w.leadersPod(); p != nil {
		p.unreachable = w.t + seconds
		w.note("fault: nothing can be asked through the kubelet of PD's leader until %s", clock(p.unreachable))
	}
}

// distrustLeader has PD's leader not accept our certificate for a while, as in the middle of a rotation. The other
// members of PD accept it.
func (w *Model) distrustLeader(seconds int64) {
	if p := w.leadersPod(); p != nil {
		p.distrusts = w.t + seconds
		w.note("fault: PD's leader does not accept our certificate until %s", clock(p.distrusts))
	}
}

package state

import (
	"slices"
	"strings"
)

// Voter is a member of PD's quorum, with what it says itself. PD's leader says what PD does; each voter
// says only whom it follows.
type Voter struct {
	Name string // its pod's name, or PD's name of a member in another Kubernetes cluster
	// Answered: its own port has said whom it follows. Follows is then the name of the leader, which is
	// itself where it leads, and "" while it hears from none.
	Answered bool
	Follows  string
	// Committed is the last entry of PD's log of which the voter knows that a majority has it.
	Committed uint64
	// CaughtUp: it has applied what the voters that answer had committed. One that lags cannot replace another.
	CaughtUp bool
	// Stopped: its process is known not to run.
	Stopped bool
}

// Voters are all voters of PD, as the members that answer list them.
type Voters []Voter

// Quorum returns how many voters are enough to elect a leader.
func (v Voters) Quorum() int { return len(v)/2 + 1 }

// Leader returns the leader that a voter follows, "" where no voter that answers follows one.
func (v Voters) Leader() string {
	for _, m := range v {
		if m.Answered && m.Follows != "" {
			return m.Follows
		}
	}
	return ""
}

// Committed returns the last entry of PD's log that a voter knows as committed, 0 where none answers. It grows only
// under a leader.
func (v Voters) Committed() uint64 {
	last := uint64(0)
	for _, m := range v {
		last = max(last, m.Committed)
	}
	return last
}

// Silent returns the voters that do not answer, and whose process may run.
func (v Voters) Silent() []string {
	var names []string
	for _, m := range v {
		if !m.Answered && !m.Stopped {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Unled returns the voters that say themselves that they follow no leader. Such a voter is in no quorum,
// though others may be one.
func (v Voters) Unled() []string {
	var names []string
	for _, m := range v {
		if m.Answered && m.Follows == "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// Leaderless reports whether PD has no leader, as far as voters know that can know it. A voter that answers follows no
// leader, and no other voter that answers follows one. The silent voters are too few for a quorum. Silent voters that
// are enough for a quorum may serve everybody but us. To restart members of such a PD would take its quorum away.
func (v Voters) Leaderless() bool {
	answered := slices.ContainsFunc(v, func(m Voter) bool { return m.Answered })
	return answered && v.Leader() == "" && len(v.Silent()) < v.Quorum()
}

// Of returns the voter with a name.
func (v Voters) Of(name string) (Voter, bool) {
	if i := slices.IndexFunc(v, func(m Voter) bool { return m.Name == name }); i >= 0 {
		return v[i], true
	}
	return Voter{}, false
}

// TakesPart reports whether a voter takes part in PD's quorum by its own account. It answers, follows the leader, and
// has caught up.
func (v Voters) TakesPart(name string) bool {
	m, votes := v.Of(name)
	return votes && m.takesPart(v.Leader())
}

func (m Voter) takesPart(leader string) bool {
	return leader != "" && m.Answered && m.CaughtUp && m.Follows == leader
}

// Spares reports whether PD serves, and goes on without a member. Then enough other voters for a quorum answer, follow
// the same leader and have caught up, or the member is no voter. A PD of one or two voters loses its quorum with any
// restart.
func (v Voters) Spares(name string) bool {
	left, leader := 0, v.Leader()
	for _, m := range v {
		if m.Name != name && m.takesPart(leader) {
			left++
		}
	}
	_, votes := v.Of(name)
	return leader != "" && (left >= v.Quorum() || len(v) <= 2 || !votes)
}

// Unanswered is what is known of PD while no member confirms that it leads. Leaderless and Unled are what
// the voters say at this moment, which may be an election.
func Unanswered(v Voters) PD {
	pd := PD{Problem: "PD has no leader", Leaderless: v.Leaderless()}
	switch leader, silent := v.Leader(), v.Silent(); {
	case leader != "" && slices.Contains(silent, leader):
		pd = UnreachedLeader(leader)
	case leader == "" && len(v) > 0 && len(silent) >= v.Quorum():
		pd.Problem = "PD's leader is not known: " + strings.Join(silent, ", ") + " cannot be reached from here, and may be a quorum that serves"
		pd.Unreached = silent
	}
	pd.Unled, pd.Committed = v.Unled(), v.Committed()
	return pd
}

// UnreachedLeader is what is known of PD while members name a leader that cannot be asked.
func UnreachedLeader(name string) PD {
	return PD{Problem: "PD's leader " + name + " cannot be reached from here", Unreached: []string{name}}
}

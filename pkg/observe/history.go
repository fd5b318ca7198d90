package observe

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/state"
)

// history is what this process has seen for how long. Kubernetes and PD tell only
// what is so now. It bounds waits and keeps a reading of a moment from being taken
// for a lasting one; a process that begins later remembers less and waits longer,
// and nothing else depends on it.
type history struct {
	// gone is since when pods have been missing that there should be, by name. A
	// pod that an admission webhook or a quota keeps from being made leaves no trace
	// but events, which may be gone as well.
	gone map[string]time.Time
	// notServing is since when members have not been seen to serve, by name.
	notServing map[string]time.Time
	// reportedDown is since when the database has said without a break that members
	// do not serve, and refusing since when their own ports have refused.
	reportedDown, refusing map[string]time.Time
	// leader is the member of PD that led when PD was asked last, "" when PD did
	// not answer, and leads since when it has been seen to lead.
	leader string
	leads  time.Time
	looked time.Time // when PD was asked last
	// leaderless is since when PD's members have been saying that none leads.
	leaderless time.Time
}

func newHistory() history {
	return history{
		gone: map[string]time.Time{}, notServing: map[string]time.Time{},
		reportedDown: map[string]time.Time{}, refusing: map[string]time.Time{},
	}
}

// since remembers in which is when something became true, and forgets it when it
// is not true any more.
func since(which map[string]time.Time, name string, is bool, now time.Time) time.Time {
	if !is {
		delete(which, name)
		return time.Time{}
	}
	if which[name].IsZero() {
		which[name] = now
	}
	return which[name]
}

// unwatched is longer than the pause between two looks at a cluster in which there is
// something to wait for.
const unwatched = 45 * time.Second

// leading notes who leads PD. A PD that did not answer in between, or that nobody has
// asked for long, may have changed its leader and changed it back. One whose process
// has been restarted since is a new leader as well.
func (m *history) leading(pd *state.PD, started, now time.Time) {
	if now.Sub(m.looked) > unwatched {
		m.leader = ""
	}
	m.looked = now
	if !pd.Known() || pd.Leader == "" {
		m.leader = ""
		return
	}
	if pd.Leader != m.leader {
		m.leader, m.leads = pd.Leader, now
	}
	pd.LeaderSince = m.leads
	if started.After(m.leads) {
		pd.LeaderSince = started
	}
}

// settled reports whether PD's leader has been seen to lead for so long that it has
// heard of all stores itself.
func (m *history) settled(now time.Time) bool {
	return m.leader != "" && now.Sub(m.leads) >= leaderSettles
}

// election is longer than PD takes to elect a leader after a hard kill, which is
// twelve seconds. Before it has passed, a PD without a leader is no PD without a
// quorum, and restarting a member of it would make it one.
const election = 20 * time.Second

// outlasts reports whether PD has been without a leader for longer than that.
func (m *history) outlasts(without bool, now time.Time) bool {
	switch {
	case !without:
		m.leaderless = time.Time{}
	case m.leaderless.IsZero():
		m.leaderless = now
	}
	return without && now.Sub(m.leaderless) > election
}

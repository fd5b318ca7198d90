package observe

import (
	"maps"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// history is how long this process has observed something. Kubernetes and PD often report only what is so now. The
// history bounds waits, and prevents that something seen once counts as lasting. A process that has just started
// knows less and so waits longer; nothing else depends on it.
type history struct {
	// gone is since when pods have been missing, by name. A pod that an admission webhook or a
	// quota does not allow leaves only events, which Kubernetes deletes after a while.
	gone map[string]time.Time
	// notServing is since when members have not been observed to serve, by name.
	notServing map[string]time.Time
	// reportedDown is since when the database has said, in every observation, that members do not
	// serve. refusing is since when their ports have refused connections, and silent since when they have given no answer.
	reportedDown, refusing, silent map[string]time.Time
	ended                          map[string]endedPod
	// leader is the leader of PD when PD was asked last, "" when PD did not answer. leads is since
	// when it has been observed to lead.
	leader  string
	leads   time.Time
	askedAt time.Time // when PD was asked last
	// heartbeats are the last ones of stores when PD was asked last, as PD dates them.
	heartbeats map[uint64]time.Time
	// labels are those of stores when PD was asked for them last, which was at labelsAt. labelsSince is since when PD has
	// answered with the same ones.
	labels                map[uint64]map[string]string
	labelsAt, labelsSince time.Time
	// leaderless is since when PD has had no leader by the word of its members, unled since when members
	// have said that they follow none.
	leaderless time.Time
	unled      map[string]time.Time
	unledAt    time.Time // when they have said so last
	committed  uint64    // the last entry of PD's log then
}

func newHistory() history {
	return history{
		gone: map[string]time.Time{}, notServing: map[string]time.Time{},
		reportedDown: map[string]time.Time{}, refusing: map[string]time.Time{}, silent: map[string]time.Time{}, ended: map[string]endedPod{},
	}
}

// trueSince returns since when something has been true, and keeps that time in the map. When it is not true any
// more, the time is removed.
func trueSince(which map[string]time.Time, name string, is bool, now time.Time) time.Time {
	if !is {
		delete(which, name)
		return time.Time{}
	}
	if which[name].IsZero() {
		which[name] = now
	}
	return which[name]
}

// endedPod is a member's pod that has been seen in a final phase, and since when.
type endedPod struct {
	uid   string
	since time.Time
}

// endedSince returns since when a member's pod has been in a final phase. The time begins again with another pod. A
// copy that a watch keeps may show a pod that has ended long ago for minutes. The next pod may have ended a moment
// ago.
func (m *history) endedSince(member string, p *state.Pod, now time.Time) time.Time {
	if p == nil || !p.Ended {
		delete(m.ended, member)
		return time.Time{}
	}
	if m.ended[member].uid != p.UID {
		m.ended[member] = endedPod{p.UID, now}
	}
	return m.ended[member].since
}

// unobservedAfter is longer than the pause between two observations of a cluster that waits for
// something.
const unobservedAfter = 45 * time.Second

// noteHeartbeats notes the last heartbeats of stores. If one is earlier than before, PD's leader was elected again and
// has loaded heartbeats that were saved minutes ago. So the leader counts as new, though the name may be the same. A
// member that resigns is often elected again before PD is asked.
func (m *history) noteHeartbeats(heartbeats map[uint64]time.Time) {
	if m.electedAgain(heartbeats) {
		m.leader = ""
	}
	if len(heartbeats) > 0 {
		m.heartbeats = heartbeats
	}
}

// electedAgain reports whether one of the last heartbeats of stores is earlier than before.
func (m *history) electedAgain(heartbeats map[uint64]time.Time) bool {
	for id, at := range heartbeats {
		if at.Before(m.heartbeats[id]) {
			return true
		}
	}
	return false
}

// labelledSince returns since when all stores have been observed with the same labels. The time begins again where PD
// did not list stores in between, or was not asked for long: labels may have changed and changed back.
func (m *history) labelledSince(labels map[uint64]map[string]string, now time.Time) time.Time {
	if now.Sub(m.labelsAt) > unobservedAfter || !maps.EqualFunc(labels, m.labels, maps.Equal) {
		m.labelsSince = now
	}
	m.labels, m.labelsAt = labels, now
	if len(labels) == 0 {
		m.labels = nil
		return time.Time{}
	}
	return m.labelsSince
}

// leading notes the leader of PD. Where PD did not answer in between, or was not asked for long, its leader may have
// changed and changed back. So the time starts again. It also starts again when the leader's process was restarted.
func (m *history) leading(pd *state.PD, started, now time.Time) {
	if now.Sub(m.askedAt) > unobservedAfter {
		m.leader = ""
	}
	m.askedAt = now
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

// settled reports whether PD's leader has led for so long that it has got heartbeats of all stores.
func (m *history) settled(now time.Time) bool {
	return m.leader != "" && now.Sub(m.leads) >= leaderSettles
}

// election is longer than PD needs to elect a leader after a hard kill, which is twelve seconds.
// Before that, a PD without a leader may still have a quorum, and to restart a member could take
// the quorum away.
const election = 20 * time.Second

// unledFor returns the members that have followed no leader for longer than an election takes. When another member
// begins to answer, the members may have become a quorum just now, and elect. Then the time of all of them begins
// again, and that of PD without a leader, too.
func (m *history) unledFor(names []string, now time.Time) []string {
	m.forgetUnled(now)
	next := make(map[string]time.Time, len(names))
	for _, name := range names {
		next[name] = m.unled[name]
	}
	another := slices.ContainsFunc(names, func(name string) bool { return m.unled[name].IsZero() })
	var lasting []string
	for _, name := range names {
		if another {
			next[name], m.leaderless = now, time.Time{}
		}
		if now.Sub(next[name]) > election {
			lasting = append(lasting, name)
		}
	}
	m.unled = next
	return lasting
}

// forgetUnled starts to count again after a time without observations. Two elections with minutes in between are no
// PD without a leader.
func (m *history) forgetUnled(now time.Time) {
	if now.Sub(m.unledAt) > unobservedAfter {
		m.leaderless, m.unled = time.Time{}, nil
	}
	m.unledAt = now
}

// committedUpTo notes how far PD's log is committed, and returns the farthest that was ever seen. It does so because
// which members answer may change. The log grows only under a leader. Where the log has grown since the members were
// asked last, PD had a leader in between that nobody has observed. Then the time without a leader begins again.
func (m *history) committedUpTo(last uint64) uint64 {
	if last > m.committed {
		m.ledAgain()
	}
	m.committed = max(m.committed, last)
	return m.committed
}

// ledAgain notes that PD's members have not said that there is no leader.
func (m *history) ledAgain() { m.leaderless, m.unled = time.Time{}, nil }

// outlasts reports whether PD has been without a leader for longer than an election takes.
func (m *history) outlasts(without bool, now time.Time) bool {
	m.forgetUnled(now)
	switch {
	case !without:
		m.leaderless = time.Time{}
	case m.leaderless.IsZero():
		m.leaderless = now
	}
	return without && now.Sub(m.leaderless) > election
}

package plan

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// leaderSettles is how long a new leader of PD needs to receive a heartbeat from every store that
// serves. Stores send a heartbeat every ten seconds.
const leaderSettles = 30 * time.Second

// evidence is since when there is evidence that a member does not serve. One kind alone is not
// enough. Kubernetes reports pods NotReady when it has only lost contact with their host, and PD
// reports stores Disconnected when PD has a new leader.
type evidence struct {
	first time.Time // of one kind; not set without a pod, where a restart is free at once
	both  time.Time // of two kinds that agree; zero when they do not
}

// reported returns the evidence that a member does not serve now, whether or not PD can know it
// yet.
func (sc Scope) reported(m state.Member) evidence {
	return sc.agreeing(m, sc.unreadySince(m))
}

// lastingEvidence returns the evidence that a member does not serve for long enough at a time. A
// member that crashes again and again is Ready from time to time. Such a member can be given up,
// but may serve while its process runs. So a step that is free only while the member does not serve
// waits until the process has ended. The time in which PD did not serve does not count: no member
// could stay up, and PD received no heartbeats.
func (sc Scope) lastingEvidence(m state.Member) evidence {
	if !sc.loops(m) {
		return sc.reported(m)
	}
	e := sc.agreeing(m, sc.loopingSince(m.Pod))
	if !e.both.IsZero() {
		e.both = later(e.both, sc.PDServesSince())
	}
	return e
}

// PDServesSince returns the earliest time since when PD can have served. That is when the last
// member of its present quorum was started. It is not known when members elsewhere were started, so
// they count as always there. It is zero when PD does not serve.
func (sc Scope) PDServesSince() time.Time {
	pd := sc.All.PD
	if !pd.Serving() {
		return time.Time{}
	}
	started := make([]time.Time, 0, pd.Healthy)
	for _, m := range sc.All.Groups[topology.PD].Members {
		if m.Pod != nil && m.Database.Healthy {
			started = append(started, m.Pod.Started)
		}
	}
	slices.SortFunc(started, time.Time.Compare)
	if here := pd.Quorum() - (pd.Healthy - len(started)); here > 0 {
		return started[here-1]
	}
	return time.Time{}
}

// agreeing returns the evidence of Kubernetes, which reports the member down since a given time,
// together with a second kind. That is PD's report, or, for members that PD does not know
// (topology.None), their own port.
func (sc Scope) agreeing(m state.Member, unready time.Time) evidence {
	if m.Database.Healthy || m.Database.Answer == state.Answered {
		return evidence{}
	}
	since := []time.Time{unready}
	if m.Kind.Data() != topology.None && m.Database.Presence != state.Unknown {
		since = append(since, sc.unheardSince(m))
	}
	if m.Database.Answer == state.Refused {
		since = append(since, m.Refusing)
	}
	since = slices.DeleteFunc(since, time.Time.IsZero)
	slices.SortFunc(since, time.Time.Compare)
	switch {
	case len(since) < 2:
		return evidence{}
	case m.Pod != nil: // a new pod is a new attempt
		return evidence{first: later(since[0], m.Pod.Made), both: later(since[1], m.Pod.Made)}
	}
	return evidence{both: since[1]}
}

// unheardSince returns since when PD has not heard from a member. A new leader of PD shows a
// store's heartbeat as it was saved. The last heartbeat may have come up to savedEvery later, but
// not after the leader began. Counted from the saved heartbeat, a store without heartbeats for a
// minute would be restarted as if it had been down for six. An earlier leader dated the heartbeat
// by the clock of another host.
func (sc Scope) unheardSince(m state.Member) time.Time {
	at, leads := m.Database.Since, sc.All.PD.LeaderSince
	switch saved := at.Add(savedEvery + state.ClocksApart); {
	case at.IsZero():
		return m.ReportedDown
	case m.Database.State == "" || !at.Before(leads):
		return at
	case saved.Before(leads):
		return saved
	}
	return leads
}

// savedEvery is how old a heartbeat may be that PD has saved of a store that serves.
const savedEvery = 5 * time.Minute

// unreadySince returns since when Kubernetes reports that a member does not serve. It is zero when
// Kubernetes does not, and when the member's own port reports that the member serves.
func (sc Scope) unreadySince(m state.Member) time.Time {
	switch {
	case m.Database.Answer == state.Answered:
		return time.Time{}
	case m.Pod == nil:
		return sc.podMissing(m)
	case m.Pod.Ready:
		return time.Time{}
	}
	return later(m.Pod.Since, m.Pod.Made) // a new pod is a new attempt
}

// podMissing returns since when a pod is missing. That time begins only when the StatefulSet exists
// and the pod is due: after hours of suspension every heartbeat is hours old.
func (sc Scope) podMissing(m state.Member) time.Time {
	if m.Gone.IsZero() { // its ordinal is above the replicas
		return later(m.NotServing, sc.Got.Set.Made)
	}
	return later(m.Gone, sc.Got.Set.Made)
}

// storesHeard returns when PD's leader has received a heartbeat from every store that serves.
// Before that, PD's report on a store may come from a change of its leader. A new leader knows
// heartbeats only as they were saved, up to five minutes ago, or longer ago if PD was away. It is
// zero for a member that is no store.
func (sc Scope) storesHeard(m state.Member) time.Time {
	switch pd := sc.All.PD; {
	case m.Database.State == "":
		return time.Time{}
	case pd.LeaderSince.IsZero(): // an election: no leader has received a heartbeat
		return sc.All.At.Add(leaderSettles)
	default:
		return pd.LeaderSince.Add(leaderSettles)
	}
}

// Heard reports whether PD's leader has led for long enough. A change of leader does not explain
// PD's report on a store then.
func (sc Scope) Heard(m state.Member) bool { return !sc.All.At.Before(sc.storesHeard(m)) }

// downSince returns the earliest time from which on there is evidence that a member does not serve.
// It is zero when the member serves, or when there is no evidence.
func (sc Scope) downSince(m state.Member) time.Time {
	since := m.DownSince()
	if m.Pod == nil && !since.IsZero() {
		return later(since, sc.podMissing(m))
	}
	return since
}

// certified returns when the certificate of the component began to be valid, zero where there is none. A member whose
// certificate has expired cannot be reached, though it runs. The member reads the renewed certificate a while after the
// Secret has it, so that the time to come back begins again.
func (sc Scope) certified() time.Time {
	if leaf := sc.All.Certificates[sc.Cluster.MemberSecret(sc.Want.Kind)].Leaf; leaf != nil {
		return leaf.NotBefore
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// restartIsHarmless reports whether a restart of a member takes nothing away, and need not wait for leaders or for
// peers. Either the process is known not to run, or two kinds of evidence have agreed for a while that the member does
// not serve. If a peer is missing, one of the two must have reported it for long. Without a quorum no voter serves.
func (sc Scope) restartIsHarmless(p Profile, m state.Member) bool {
	if m.Stopped() || sc.unled(p, m) || sc.neverJoined(m) {
		return true
	}
	return sc.downForLong(m) ||
		sc.agreed(m) && (p.Kind.Data() == topology.None || sc.peersServe(p, m))
}

// unled reports whether a voter is in no quorum. Either PD has no leader, or the voter itself says that it follows
// none, for longer than an election takes.
func (sc Scope) unled(p Profile, m state.Member) bool {
	return p.Kind.Data() == topology.Raft && (sc.All.PD.Leaderless || slices.Contains(sc.All.PD.Unled, m.Name))
}

// agreed reports whether two kinds of evidence have agreed for a while that a member does
// not serve.
func (sc Scope) agreed(m state.Member) bool {
	both := sc.reported(m).both
	return !both.IsZero() && sc.Heard(m) && sc.All.At.Sub(both) >= settling
}

// downForLong reports whether, in addition, one of the two has said so for long.
func (sc Scope) downForLong(m state.Member) bool {
	return sc.agreed(m) && sc.All.At.Sub(sc.reported(m).first) >= TimeToServe
}

// freeAt returns when a restart of a member is free by evidence that agrees already and is not old
// enough. It is zero without such evidence.
func (sc Scope) freeAt(p Profile, m state.Member) time.Time {
	e := sc.reported(m)
	if e.both.IsZero() {
		return time.Time{}
	}
	at := later(e.both.Add(settling), sc.storesHeard(m))
	if p.Kind.Data() != topology.None && !sc.peersServe(p, m) {
		at = later(at, e.first.Add(TimeToServe))
	}
	return at
}

// SurelyDown reports whether it is certain enough that a member which PD knows does not serve. A
// step that cannot be taken back needs this. Two kinds of evidence must have agreed for a while, or
// must agree now while its container does not run. PD's report alone is wrong now and then: its
// health check misses a member, or a heartbeat is late.
func (sc Scope) SurelyDown(m state.Member) bool {
	both := sc.reported(m).both
	return !both.IsZero() && sc.Heard(m) && (m.Stopped() || sc.All.At.Sub(both) >= settling)
}

// neverJoined reports whether a process has run for a while without joining PD. The cluster does
// not use its data then.
func (sc Scope) neverJoined(m state.Member) bool {
	return m.Database.Presence == state.Absent && sc.All.At.Sub(m.Pod.Started) >= settling
}

// runsUnlisted reports whether a process with a Ready pod has run for a while without joining PD. A
// process that PD has removed ends by itself, so this process has another reason, perhaps its
// template.
func (sc Scope) runsUnlisted(m state.Member) bool {
	return m.Pod != nil && m.Pod.Ready && sc.neverJoined(m)
}

// peersMissing waits for the peers of a member that is to be restarted. A store whose pod was taken
// away by others is a peer as well. PD counts on it, and regions may have no quorum without both
// stores.
func (sc Scope) peersMissing(p Profile, m state.Member) verdict {
	v := membersDown(sc, slices.Concat(sc.Got.BelowReplicas(), sc.podsRemoved(p)), &m)
	v.gates = slices.DeleteFunc(v.gates, func(g Gate) bool {
		o, _ := sc.Got.Member(g.Member)
		if o.Pod == nil || o.Pod.Terminating || sc.loops(o) {
			return false
		}
		return sc.servesUnready(o) || p.Kind.Data() == topology.None && sc.refuses(m) && sc.refuses(o) && sc.Got.Outdated(o)
	})
	return v
}

// podsRemoved returns members above the replicas whose data the database counts on.
// Voters are left out: they are counted where a quorum is.
func (sc Scope) podsRemoved(p Profile) []state.Member {
	if p.Kind.Data() != topology.Store {
		return nil
	}
	above := slices.Clone(sc.Got.Members[len(sc.Got.BelowReplicas()):])
	return slices.DeleteFunc(above, func(m state.Member) bool { return !countedOn(m) })
}

// servesUnready reports whether a member serves though Kubernetes reports its pod NotReady. The
// database and the member's own port must say so, and Kubernetes must have had time to notice. If a
// readiness probe is wrong, this is true of all members, and they would wait for each other for
// ever. A process that has just started answers before it serves, and its pod may have been
// NotReady for a long time before. Where Kubernetes reports that no process runs, the report is old,
// and nobody knows when the process has started.
func (sc Scope) servesUnready(m state.Member) bool {
	return m.Database.Healthy && m.Database.Answer == state.Answered && !m.Pod.Started.IsZero() &&
		sc.All.At.Sub(later(m.Pod.Since, m.Pod.Started)) >= settling
}

// refuses reports whether a server has a Ready pod and a status port that has refused connections
// for a while. Such a server need not wait for other servers of an old revision that refuse as
// well. The same setting is wrong in all of them, and they would wait for each other for ever.
func (sc Scope) refuses(m state.Member) bool {
	return m.Pod != nil && m.Pod.Ready && !m.Refusing.IsZero() && sc.All.At.Sub(m.Refusing) >= settling
}

// restartsInOrder reports whether a member may be restarted in the ordinary order: after its peers
// serve, and after its leaders have moved. The member itself need not serve. Otherwise a template
// that breaks a status port could never be taken back.
func (sc Scope) restartsInOrder(p Profile, m state.Member) bool {
	switch {
	case m.Up():
		return true
	case m.Pod == nil || m.Pod.Terminating || m.Database.State == state.StoreOffline:
		return false
	case m.Database.Presence == state.Unknown && p.Kind.Data() != topology.None:
		return false // it is not known what the cluster would lose
	}
	return sc.mayHelp(p, m)
}

// isDown reports whether one observation says that a member does not serve. That is no
// proof. A member that could not be asked is not down, and neither is a store that serves
// while its regions leave it.
func isDown(m state.Member) bool {
	switch {
	case m.Up():
		return false
	case m.Pod == nil || !m.Pod.Ready:
		return true
	}
	return m.Database.Presence != state.Unknown && m.Database.State != state.StoreOffline
}

// downOrNoQuorum reports whether one observation says that a member is down or, as a voter, has no
// quorum. Without a quorum too few voters are there to elect a leader. A store that leaves needs
// more than one observation.
func (sc Scope) downOrNoQuorum(p Profile, m state.Member) bool {
	return isDown(m) || m.Database.State == state.StoreOffline && sc.SurelyDown(m) || sc.unled(p, m)
}

func (sc Scope) anyDown(p Profile) bool {
	for _, m := range sc.Got.BelowReplicas() {
		if sc.downOrNoQuorum(p, m) {
			return true
		}
	}
	return false
}

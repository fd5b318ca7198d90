package facts

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// leaderSettles is how long a new leader of PD needs to receive a heartbeat from every store that
// serves. Stores send a heartbeat every ten seconds.
const leaderSettles = 30 * time.Second

// Evidence is since when there is evidence that a member does not serve. One kind alone is not
// enough. Kubernetes reports pods NotReady when it has only lost contact with their host, and PD
// reports stores Disconnected when PD has a new leader.
type Evidence struct {
	First time.Time // of one kind; not set without a pod, where a restart is free at once
	Both  time.Time // of two kinds that agree; zero when they do not
}

// Reported returns the evidence that a member does not serve now, whether or not PD can know it
// yet.
func (c Component) Reported(m state.Member) Evidence {
	return c.agreeing(m, c.unreadySince(m))
}

// lastingEvidence returns the evidence that a member does not serve for long enough at a time. A
// member that crashes again and again is Ready from time to time. Such a member can be given up,
// but may serve while its process runs. So a step that is free only while the member does not serve
// waits until the process has ended. The time in which PD did not serve does not count: no member
// could stay up, and PD received no heartbeats.
func (c Component) lastingEvidence(m state.Member) Evidence {
	if !c.Loops(m) {
		return c.Reported(m)
	}
	e := c.agreeing(m, c.LoopingSince(m.Pod))
	if !e.Both.IsZero() {
		e.Both = Later(e.Both, c.PDServesSince())
	}
	return e
}

// PDServesSince returns the earliest time since when PD can have served. That is when the last
// member of its present quorum was started. It is not known when members elsewhere were started, so
// they count as always there. It is zero when PD does not serve.
func (c Component) PDServesSince() time.Time {
	pd := c.All.PD
	if !pd.Serving() {
		return time.Time{}
	}
	started := make([]time.Time, 0, pd.Healthy)
	for _, m := range c.All.Groups[topology.PD].Members {
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
func (c Component) agreeing(m state.Member, unready time.Time) Evidence {
	if m.Database.Healthy || m.Database.Answer == state.Answered {
		return Evidence{}
	}
	since := []time.Time{unready}
	if m.Kind.Data() != topology.None && m.Database.Presence != state.Unknown {
		since = append(since, c.unheardSince(m))
	}
	if m.Database.Answer == state.Refused {
		since = append(since, m.Refusing)
	}
	since = slices.DeleteFunc(since, time.Time.IsZero)
	slices.SortFunc(since, time.Time.Compare)
	switch {
	case len(since) < 2:
		return Evidence{}
	case m.Pod != nil: // a new pod is a new attempt
		return Evidence{First: Later(since[0], m.Pod.Made), Both: Later(since[1], m.Pod.Made)}
	}
	return Evidence{Both: since[1]}
}

// unheardSince returns since when PD has not heard from a member. A new leader of PD shows a
// store's heartbeat as it was saved. The last heartbeat may have come up to savedEvery later, but
// not after the leader began. Counted from the saved heartbeat, a store without heartbeats for a
// minute would be restarted as if it had been down for six. An earlier leader dated the heartbeat
// by the clock of another host.
func (c Component) unheardSince(m state.Member) time.Time {
	at, leads := m.Database.Since, c.All.PD.LeaderSince
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
func (c Component) unreadySince(m state.Member) time.Time {
	switch {
	case m.Database.Answer == state.Answered:
		return time.Time{}
	case m.Pod == nil:
		return c.podMissing(m)
	case m.Pod.Ready:
		return time.Time{}
	}
	return Later(m.Pod.Since, m.Pod.Made) // a new pod is a new attempt
}

// podMissing returns since when a pod is missing. That time begins only when the StatefulSet exists
// and the pod is due: after hours of suspension every heartbeat is hours old.
func (c Component) podMissing(m state.Member) time.Time {
	if m.Gone.IsZero() { // its ordinal is above the replicas
		return Later(m.NotServing, c.Got.Set.Made)
	}
	return Later(m.Gone, c.Got.Set.Made)
}

// StoresHeard returns when PD's leader has received a heartbeat from every store that serves.
// Before that, PD's report on a store may come from a change of its leader. A new leader knows
// heartbeats only as they were saved, up to five minutes ago, or longer ago if PD was away. It is
// zero for a member that is no store.
func (c Component) StoresHeard(m state.Member) time.Time {
	switch pd := c.All.PD; {
	case m.Database.State == "":
		return time.Time{}
	case pd.LeaderSince.IsZero(): // an election: no leader has received a heartbeat
		return c.All.At.Add(leaderSettles)
	default:
		return pd.LeaderSince.Add(leaderSettles)
	}
}

// Heard reports whether PD's leader has led for long enough. A change of leader does not explain
// PD's report on a store then.
func (c Component) Heard(m state.Member) bool { return !c.All.At.Before(c.StoresHeard(m)) }

// DownSince returns the earliest time from which on there is evidence that a member does not serve.
// It is zero when the member serves, or when there is no evidence.
func (c Component) DownSince(m state.Member) time.Time {
	since := m.DownSince()
	if m.Pod == nil && !since.IsZero() {
		return Later(since, c.podMissing(m))
	}
	return since
}

// CertifiedSince returns when the certificate of the component began to be valid, zero where there is none. A member whose
// certificate has expired cannot be reached, though it runs. The member reads the renewed certificate a while after the
// Secret has it, so that the time to come back begins again.
func (c Component) CertifiedSince() time.Time {
	if leaf := c.All.Certificates[c.Cluster.MemberSecret(c.Want.Kind)].Leaf; leaf != nil {
		return leaf.NotBefore
	}
	return time.Time{}
}

func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// NotServingSince returns since when there is evidence that a member with a Ready pod
// does not serve. One that the database has never seen has not served since its pod was
// created.
func (c Component) NotServingSince(m state.Member) time.Time {
	if m.Database.Presence == state.Absent {
		return c.UnchangedSince(m)
	}
	return c.DownSince(m)
}

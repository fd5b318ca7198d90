package observe

import (
	"context"
	"errors"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
)

// atOnce bounds the connections that are opened at the same time.
const atOnce = 16

// askStores asks stores that are being evicted how many leaders they have. PD's number is as old as the last
// heartbeat, up to ten seconds. With that number an eviction would take that much longer, or a store would be
// restarted with leaders that it has got since. In a long eviction it asks them less often while PD's number does
// not change.
//
// It also asks stores that are Up in PD only because of a heartbeat of a former process. Only a process that has
// opened its regions counts regions, so the answer proves that the process serves. And it asks stores without a
// heartbeat, and stores that Kubernetes calls NotReady. PD may have a new leader, which has got no heartbeats yet,
// and a probe may be wrong. PD calls a new store Down for ten seconds; what the store has registered and what it
// answers prove that it serves.
func (o *Observer) askStores(ctx context.Context, c topology.Cluster, members []state.Member) {
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !m.Database.Evicting {
			o.leaders.forget(m.Database.ID)
		}
		switch {
		case !runs(m):
		case listsNone(m):
			o.askUnlistedStore(ctx, c, m)
		case doubtful(m, o.now()):
			o.askStore(ctx, c, m)
		case m.Database.Evicting:
			own, ask := o.leaders.askAgain(m.Database.ID, m.Database.Leaders, o.now())
			if ask || !o.history.settled(o.now()) {
				o.askStore(ctx, c, m)
			} else {
				m.Database.Leaders = own
			}
		}
	})
}

// doubtful reports whether PD and Kubernetes do not both say that a store serves.
func doubtful(m *state.Member, now time.Time) bool {
	return m.Pod.Started.IsZero() || unproven(m) || heartbeatOverdue(m, now) || m.Database.Healthy && !m.Pod.Ready
}

// unproven reports whether a store is Up in PD only because of a heartbeat of a
// former process.
func unproven(m *state.Member) bool {
	return m.Database.State == state.StoreUp && !m.Database.Healthy
}

// firstHeartbeat is more than the time from the start of a new store's process to its first heartbeat
// in PD. After that time the store may run without reaching PD.
const firstHeartbeat = 30 * time.Second

// soonStarted bounds the same from when the pod was made, by the API server's clock. The clock of a host may be
// minutes ahead.
const soonStarted = 2 * time.Minute

// awaited reports whether it is too early for the first heartbeat of a new store.
func awaited(m *state.Member, now time.Time) bool {
	return m.Database.New && now.Sub(m.Pod.Started) < firstHeartbeat && now.Sub(m.Pod.Made) < soonStarted
}

// heartbeatOverdue reports whether PD has got no heartbeat from a store for a while. For an Offline
// store only the time of the last heartbeat shows it.
func heartbeatOverdue(m *state.Member, now time.Time) bool {
	switch m.Database.State {
	case state.StoreDisconnected, state.StoreDown:
		return true
	case state.StoreOffline:
		return !m.Database.Since.IsZero() && now.Sub(m.Database.Since) > state.ClocksApart
	}
	return false
}

func (o *Observer) askStore(ctx context.Context, c topology.Cluster, m *state.Member) {
	d, byPD := &m.Database, m.Database.Leaders
	n, err := o.tikv.Counts(ctx, c.PodHost(m.Kind, m.Ordinal))
	d.Answer = answerOf(err)
	if err != nil {
		// PD counts the leaders of a store whose process is not there: others
		// lead its regions now.
		gone := d.Answer == state.Refused && (heartbeatOverdue(m, o.now()) || m.Pod.Started.IsZero())
		if !gone {
			d.Leaders = -1
		}
		return
	}
	d.Leaders, d.Regions = n.Leaders, n.Regions
	if d.Evicting {
		o.leaders.note(d.ID, byPD, n.Leaders, o.now())
	}
	switch {
	case unproven(m) && n.Regions > 0, awaited(m, o.now()):
		d.Healthy, d.Problem, d.Since = true, "", time.Time{}
	case heartbeatOverdue(m, o.now()):
		d.Problem = "PD has not heard from the store, but the store itself answers"
	}
}

// askServers asks TiDB servers whether they serve. In a large cluster, an observation that is not live asks only
// servers that have not said for a while that they serve.
func (o *Observer) askServers(ctx context.Context, c topology.Cluster, members []state.Member) {
	if len(members) <= few {
		o.each(ctx, members, func(ctx context.Context, m *state.Member) { o.askServer(ctx, c, m) })
		return
	}
	var given map[string]bool
	if !o.asksAll {
		given = o.serving.remembered(members, o.now())
	}
	o.each(ctx, members, func(ctx context.Context, m *state.Member) {
		if !given[m.Name] {
			o.askServer(ctx, c, m)
		}
	})
	o.serving = o.serving.note(members, given, o.now())
	o.http.CloseIdleConnections() // the next observation asks few of them
}

func (o *Observer) askServer(ctx context.Context, c topology.Cluster, m *state.Member) {
	if !runs(m) {
		return
	}
	healthy, err := o.tidb.Healthy(ctx, c.PodHost(m.Kind, m.Ordinal))
	d := &m.Database
	switch d.Answer = answerOf(err); {
	case d.Answer == state.Refused:
		d.Presence, d.Problem = state.Present, "status port refuses connections"
	case err != nil:
		d.Problem = "status port could not be asked: " + whyNoAnswer(err)
	case !healthy:
		d.Presence, d.Answer, d.Listening, d.Problem = state.Present, state.Refused, true, "status port reports an error"
	default:
		d.Presence, d.Healthy = state.Present, true
	}
}

// runs reports whether a member may have a process that can be asked. The report of a kubelet that none runs may be
// old: the API server may not have heard of the host since.
func runs(m *state.Member) bool {
	return m.Pod != nil && (m.Pod.Addressed || !m.Pod.Started.IsZero())
}

// answerOf returns what the error of a request to a member proves. A connection
// that the pod refuses proves that nothing listens. A failed tunnel or a timeout
// proves nothing.
func answerOf(err error) state.Answer {
	switch {
	case err == nil:
		return state.Answered
	case errors.Is(err, dial.Refused):
		return state.Refused
	}
	return state.NoAnswer
}

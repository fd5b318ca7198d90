package sim

import (
	"cmp"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
)

func (w *Model) countLeader(i int) {
	m := w.pd.memberAt(i)
	if m == nil {
		return
	}
	w.Soft.LeadersTaken++
	if m.id == w.pd.leader && m.id == w.seen.leader && w.successors(i) > 0 {
		w.note("soft: %s is taken away while it leads", w.names[pd][i])
		w.Soft.LeadersKilled++
	}
}

// successors counts members of ours that can lead instead.
func (w *Model) successors(except int) int {
	n := 0
	for i := range limit {
		if i != except && w.served(pd, i) && w.seen.inSight[pd][i] && w.wantedBoth(pd, i) {
			n++
		}
	}
	return n
}

// unmoved is the shortest time after which a run that is to proceed restarts a store with its leaders. It applies where
// nobody has set a time limit.
const unmoved = 10 * time.Minute

// judgeLeaders checks that leaders are evicted from a store before it is restarted. The exceptions are leaders that
// cannot move, and a time limit that somebody has set and that is over. Leaders that come between the observation and
// the restart are only counted.
func (w *Model) judgeLeaders(i int, say sayer) {
	s := w.ownStore(i)
	if s.leaders == 0 || w.movable(s) == 0 || w.unheardStore(i, s) {
		return
	}
	limit := cmp.Or(w.Eviction.Timeout, w.EvictTimeout)
	if limit == 0 && w.Eviction.OnTimeout == plan.Proceed {
		limit = unmoved
	}
	if r, ok := w.earliestRecord(s.id); ok && limit > 0 && w.Now().Sub(r.Since) >= limit {
		// A time that is over says nothing where PD shows that it evicts no leaders.
		if w.seen.kept && w.keepsLeaders() && w.Eviction.OnTimeout == plan.Default && w.seen.leaders[i] > 0 {
			say("leaders", "%s has %d leaders, which PD was set to keep there", w.names[tikv][i], s.leaders)
		}
		return
	}
	w.note("soft: %s is restarted with %d leaders", w.names[tikv][i], s.leaders)
	w.Soft.WithLeaders++
	if w.seen.leaders[i] > 0 {
		say("leaders", "%s has %d leaders", w.names[tikv][i], s.leaders)
	}
}

// earliestRecord is the record of the eviction that a step was decided by. Another engine may have begun a new one
// since.
func (w *Model) earliestRecord(id uint64) (record, bool) {
	for _, r := range w.seen.records {
		if r.StoreID == id {
			return r, true
		}
	}
	return w.recordOf(id)
}

// unheardStore reports whether nobody has heard from a store for two minutes. Kubernetes hears nothing from its host,
// nor does PD, and the store cannot be asked. No engine could know that it serves.
func (w *Model) unheardStore(i int, s *store) bool {
	const long = 120
	p := w.pods[tikv][i]
	silent := p != nil && w.unanswered(p) && !p.ready && w.t-p.since >= long
	return silent && s.heartbeat != noHeartbeat && w.t-s.heartbeat >= long
}

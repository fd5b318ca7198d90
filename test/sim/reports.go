package sim

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// What PD, Kubernetes and the members' own ports report. See truth.go.

// memory is what one process remembers from one observation to the next.
type memory struct {
	leader      string
	leaderSince int64
	leaderless  int64            // since when PD has no leader
	unled       map[string]int64 // since when members of PD follow none
	unledAt     int64            // when the process looked last
	committed   uint64           // how far PD's log was committed then
	dated       map[uint64]int64 // the last heartbeats of stores
	gone        [components][limit]int64
	notServing  [components][limit]int64
	denied      [components][limit]int64
	refusing    [components][limit]int64
	silent      [components][limit]int64
	ended       [components][limit]endedPod
	labels      string // of all stores
	labelsSince int64
}

// remember adds to a snapshot what only a process can know that has observed before.
func (w *Model) remember(s *state.Snapshot) {
	m := &w.memory
	if again := w.electedAgain(); again || s.PD.Leader != m.leader {
		m.leader, m.leaderSince = s.PD.Leader, w.t
	}
	if m.leader != "" {
		s.PD.LeaderSince = w.at(m.leaderSince)
	}
	w.rememberLabels(s)
	w.withoutLeader(s)
	for k, name := range kinds {
		g := s.Groups[name]
		for at := range g.Members {
			is := &g.Members[at]
			i := w.numberOf(is.Ordinal)
			is.Gone = w.since(&m.gone[k][i], g.Set.Has(is.Ordinal) && is.Pod == nil)
			is.NotServing = w.since(&m.notServing[k][i], !is.Up())
			is.ReportedDown = w.since(&m.denied[k][i], is.Denied())
			is.Ended = w.endedSince(&m.ended[k][i], is.Pod)
			is.Refusing = w.since(&m.refusing[k][i], is.Database.Answer == state.Refused)
			is.Silent = w.since(&m.silent[k][i], is.Database.Answer == state.NoAnswer)
		}
	}
}

// endedPod is a pod that a process has seen in a final phase, and since when.
type endedPod struct {
	uid   string
	since int64
}

// endedSince returns since when a pod has been in a final phase. at is where the process remembers that time of a
// member.
func (w *Model) endedSince(at *endedPod, p *state.Pod) time.Time {
	if p == nil || !p.Ended {
		*at = endedPod{}
		return time.Time{}
	}
	if at.uid != p.UID {
		*at = endedPod{p.UID, w.t}
	}
	return w.at(at.since)
}

// electedAgain reports whether a heartbeat is earlier than it was before. By this a process notices that PD's leader
// was elected again under the same name.
func (w *Model) electedAgain() bool {
	if !w.storesKnown() {
		return false
	}
	before := w.memory.dated
	w.memory.dated = map[uint64]int64{}
	again := false
	for _, s := range w.stores {
		again = again || s.dated < before[s.id]
		w.memory.dated[s.id] = s.dated
	}
	return again
}

// since returns since when something holds; at is where the process remembers it.
func (w *Model) since(at *int64, holds bool) time.Time {
	switch {
	case !holds:
		*at = 0
		return time.Time{}
	case *at == 0:
		*at = w.t
	}
	return w.at(*at)
}

// heard reports whether PD reports a store as Up, and surely because of the process in the given pod.
func (w *Model) heard(s *store, p *pod) bool {
	if w.shownState(s) != state.StoreUp {
		return false
	}
	return w.proves(s, w.at(p.started+max(0, w.clocks[s.k][s.ordinal]))) || registered(s, p)
}

// pinged reports whether PD's health check reaches a member.
func (w *Model) pinged(m pdMember) bool { return w.alive(m) && w.t >= m.unheard }

// takesPart reports whether a member that PD's health check misses says itself that it takes part in PD's quorum. PD's
// leader can then be asked what the member has to know.
func (w *Model) takesPart(m pdMember) bool {
	leader := w.pd.member(w.pd.leader)
	if m.ordinal < 0 || leader == nil || leader.ordinal < 0 || w.pinged(m) {
		return false
	}
	p, l := w.pods[pd][m.ordinal], w.pods[pd][leader.ordinal]
	return p != nil && l != nil && w.memberAnswers(m, p) == state.Answered && w.memberAnswers(*leader, l) == state.Answered
}

// memberAnswers returns what a PD member answers when it is asked directly.
func (w *Model) memberAnswers(m pdMember, p *pod) state.Answer {
	switch {
	case w.unanswered(p):
		return state.NoAnswer
	case !w.alive(m):
		return state.Refused
	}
	return state.Answered
}

// portAnswers returns what the status port of a member without data answers. The connection goes
// through the kubelet of its host.
func (w *Model) portAnswers(k kind, i int) state.Answer {
	p := w.pods[k][i]
	switch {
	case p == nil || w.unanswered(p):
		return state.NoAnswer
	case p.flaw == statusless || w.t < p.refuses || !servers[k](w, i):
		return state.Refused
	}
	return state.Answered
}

// storeAnswers returns what a store answers when it is asked directly.
func (w *Model) storeAnswers(k kind, i int) state.Answer {
	p, s := w.pods[k][i], w.storeOf(k, i)
	switch {
	case p == nil || w.unanswered(p):
		return state.NoAnswer
	case s == nil || !w.storeRuns(s) || s.announced < p.started:
		return state.Refused
	}
	return state.Answered
}

// unanswered reports whether a process cannot be asked. Requests through the kubelet of its host fail, because the host
// or its connection to the API server is lost. Or one side does not accept the certificate of the other.
func (w *Model) unanswered(p *pod) bool {
	return p.lost > w.t || p.unseen > w.t || w.t < p.unreachable || w.t < p.distrusts || p.expired.has(w.t)
}

// led records that PD has another leader. The new leader knows heartbeats as they were last saved. They are saved once
// for each leader and then every five minutes. The new leader knows no schedulers before it has loaded them.
func (w *Model) led() {
	w.patrolAgain()
	if !w.Faults.Saved {
		return
	}
	w.pd.loadedAt = w.t + w.between(2, 8)
	for _, s := range w.stores {
		s.heartbeat, s.dated, s.unsaved = s.saved, s.savedDate, true
		s.beatAt = w.t + 1 + w.between(heartbeats-2, heartbeats-1)
		if w.chaos {
			s.beatAt = w.t + 1 + w.rng.Int64N(heartbeats)
		}
	}
}

// savedEvery is how often PD saves when it has heard of a store, in seconds.
const savedEvery = 300

// beat records a heartbeat that arrives at PD.
func (w *Model) beat(s *store) {
	s.heartbeat, s.dated, s.beatAt = w.t, w.dated(), w.t+heartbeats
	if s.unsaved || w.t-s.saved >= savedEvery {
		s.saved, s.savedDate, s.unsaved = s.heartbeat, s.dated, false
	}
}

// resign makes PD's leader step down, as by itself or by hand.
func (w *Model) resign() {
	others := w.aliveMembers() - 1
	if !w.serving() || others < 1 {
		return
	}
	n := w.rng.IntN(others)
	for _, m := range w.pd.members {
		if m.id == w.pd.leader || !w.alive(m) {
			continue
		}
		if n--; n < 0 {
			w.note("fault: PD's leader resigns")
			w.pd.leader = m.id
			w.led()
			return
		}
	}
}

// miss makes PD's health check miss a member for some seconds.
func (w *Model) miss() {
	if len(w.pd.members) == 0 {
		return
	}
	m := &w.pd.members[w.rng.IntN(len(w.pd.members))]
	if m.ordinal < 0 {
		return
	}
	m.unheard = w.t + w.between(1, 30)
	w.note("fault: PD's health check misses %s until %s", w.names[pd][m.ordinal], clock(m.unheard))
}

// standStill makes PD move neither leaders nor replicas for a while.
func (w *Model) standStill() {
	w.pd.idle = w.t + w.between(30, 900)
	w.note("fault: PD moves nothing until %s", clock(w.pd.idle))
}

// cutTunnel breaks the connection to the kubelet of a pod's host.
func (w *Model) cutTunnel() {
	if k, i, p := w.anyPod(); p != nil {
		p.unreachable = w.t + w.between(5, 180)
		w.note("fault: nothing can be asked through the kubelet of %s until %s", w.names[k][i], clock(p.unreachable))
	}
}

// refusePort makes the status port of a member without data answer with an error for a while.
func (w *Model) refusePort() {
	for _, k := range w.in() {
		for i := range limit {
			if p := w.pods[k][i]; servers[k] != nil && p != nil && p.running && w.rng.IntN(2) == 0 {
				p.refuses = w.t + w.between(3, 90)
				w.note("fault: the status port of %s answers with errors until %s", w.names[k][i], clock(p.refuses))
				return
			}
		}
	}
}

// hide lets Kubernetes lose contact with one host, on which all processes run.
func (w *Model) hide() {
	if k, i, p := w.anyPod(); p != nil {
		p.unseen = w.t + w.between(20, 400)
		w.note("fault: Kubernetes hears nothing of the host of %s until %s", w.names[k][i], clock(p.unseen))
	}
}

// reportLate leaves Kubernetes with an old report that a container does not run. The container was between two runs
// when its kubelet was heard last. Requests through that kubelet fail or not.
func (w *Model) reportLate() {
	if k, i, p := w.anyPod(); p != nil && p.running {
		w.misreport(p, w.between(10, 300), w.rng.IntN(2) == 0)
		w.note("fault: by an old report %s does not run, until %s", w.names[k][i], clock(p.unreported))
	}
}

func (w *Model) misreport(p *pod, seconds int64, cut bool) {
	p.unreported = w.t + seconds
	if w.setReady(p, false, "CrashLoopBackOff"); cut {
		p.unreachable = max(p.unreachable, p.unreported)
	}
}

// heal ends a pod's faults that last, except for a host that is lost for good.
func (p *pod) heal(now int64) {
	p.expired = span{}
	if p.lost > now && p.lost != never {
		p.lost = now
	}
	p.unseen, p.unreachable, p.refuses = min(p.unseen, now), min(p.unreachable, now), min(p.refuses, now)
	p.unreported = min(p.unreported, now)
	p.distrusts = min(p.distrusts, now)
}

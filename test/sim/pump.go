package sim

import (
	"errors"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// registration is what a Pump has written into PD's etcd. Each process of an ordinal has the same id.
type registration struct {
	state   state.PumpState
	process string // that wrote it last
	claim   string // the uid of the claim with its data
	updated int64
	readAt  int64 // when drainers have read what it has, once it closes
}

const (
	pumpStarts = 2  // how long a Pump takes to register
	pumpWrites = 20 // after how long without a write it counts as silent
)

var errPump = errors.New("the Pump does not answer")

// tickPumps is one second of Pumps and drainers. What is in PD stays as it is while PD does not serve.
func (w *Model) tickPumps() {
	if w.Pump == 0 || !w.serving() {
		return
	}
	for i, p := range w.pods[pump] {
		r := w.pumps[i]
		if w.runsPump(i) && (r == nil || r.process != p.captureID()) {
			w.pumps[i] = &registration{state: state.PumpOnline, process: p.captureID(), claim: w.claims[pump][i].uid, updated: w.t}
			continue
		}
		switch {
		case r == nil || !p.writes(w.t) || r.process != p.captureID():
		case p.terminating() && r.state != state.PumpOffline:
			r.state, r.updated = state.PumpPaused, w.t // it ends in order
		case !w.works(p):
		case p.closing && w.t >= r.readAt && w.t >= w.pd.idle:
			r.state, r.updated = state.PumpOffline, w.t
			w.endPump(p)
		case p.closing: // nothing is written between the request and the end
		default:
			r.updated = w.t
		}
	}
}

// writes reports whether the process in a Pump's pod runs, and its host reaches PD.
func (p *pod) writes(now int64) bool {
	return p != nil && p.running && p.lost <= now && !p.closed
}

// endPump ends the process of a Pump that is offline. Our script keeps the container, and the script of an operator
// lets the kubelet start the container again.
func (w *Model) endPump(p *pod) {
	if w.PumpAgain {
		p.crashes++
		w.halt(p, min(300, int64(1)<<min(3*(p.crashes-1), 9)))
		return
	}
	p.closed, p.readyAt = true, never
	w.setReady(p, false, "")
}

// runsPump reports whether a process of Pump takes binlog.
func (w *Model) runsPump(i int) bool {
	p := w.pods[pump][i]
	return w.works(p) && !p.closed && w.t >= p.started+pumpStarts
}

// takesBinlog reports whether a process takes binlog that it has not been asked to stop.
func (w *Model) takesBinlog(i int) bool {
	r := w.pumps[i]
	return w.runsPump(i) && !w.pods[pump][i].closing && r != nil && r.state == state.PumpOnline && r.process == w.pods[pump][i].captureID()
}

// unread reports whether drainers wait for what the data of an ordinal has.
func (w *Model) unread(i int) bool {
	r, c := w.pumps[i], w.claims[pump][i]
	return r != nil && r.state != state.PumpOffline && c != nil && c.uid == r.claim
}

// online is how many Pumps take binlog.
func (w *Model) online() int {
	n := 0
	for i := range limit {
		if w.takesBinlog(i) {
			n++
		}
	}
	return n
}

// observePump is what PD's etcd and the Pump itself report of it.
func (w *Model) observePump(i int) state.Database {
	r, p := w.pumps[i], w.pods[pump][i]
	switch {
	case !w.known():
		return state.Database{}
	case r == nil, r.state == state.PumpOffline && w.renewedSince(i):
		return state.Database{Presence: state.Absent}
	}
	d := state.Database{Presence: state.Present, Pump: state.Pump{Node: w.names[pump][i] + ":8250", State: r.state}}
	started := p != nil && p.running && p.started > r.updated
	d.Healthy = r.state == state.PumpOnline && w.t-r.updated < pumpWrites && !started
	if !d.Healthy {
		d.Since = w.at(r.updated)
	}
	switch {
	case started:
		d.Answer = state.Refused
	case r.state == state.PumpOnline && p != nil && p.running && p.closing: // as the pod's annotation says
		d.Healthy, d.Since, d.Pump.State = false, w.at(r.updated), state.PumpClosing
	}
	return d
}

// renewedSince reports whether an ordinal has another process or another claim than when it went
// offline.
func (w *Model) renewedSince(i int) bool {
	r, p, c := w.pumps[i], w.pods[pump][i], w.claims[pump][i]
	return p != nil && p.running && p.started > r.updated || c != nil && c.uid != r.claim
}

// onlineInPD is how many Pumps PD's etcd has online, by what Pumps write there. Pumps that were asked to close do not
// count.
func (w *Model) onlineInPD() int { return w.othersOnline(-1) }

// othersOnline is the same without the Pump of an ordinal.
func (w *Model) othersOnline(but int) int {
	n := 0
	for i, r := range w.pumps {
		closing := w.pods[pump][i] != nil && w.pods[pump][i].closing
		if i != but && r != nil && r.state == state.PumpOnline && !closing && w.t-r.updated < pumpWrites {
			n++
		}
	}
	return n
}

// closePump asks a Pump to close, as package act does.
func (w *Model) closePump(s step.ClosePump) error {
	i, _ := w.index(s.Component, s.Member)
	p, r := w.pods[pump][i], w.pumps[i]
	switch {
	case p == nil || p.uid != s.PodUID:
		return errConflict
	case !w.known():
		return errNoPD
	case r == nil:
		return errConflict
	case p.closing, r.state == state.PumpOffline:
		return nil
	case r.state != state.PumpOnline:
		return errConflict
	case w.Binlog && w.anyPodOf(tidb) && w.othersOnline(i) == 0:
		return errConflict
	case w.portAnswers(pump, i) != state.Answered:
		return errPump
	}
	p.closing, r.readAt = true, w.t+w.between(1, 120)
	return nil
}

// judgeClose checks that a Pump that takes binlog is closed only if it is not wanted. TiDB must have another Pump. A
// Pump that TiDB had less than pumpWrites before the observation counts, because it cannot be known that such a Pump
// has ended since.
func (w *Model) judgeClose(s step.ClosePump, say sayer) {
	i, _ := w.index(s.Component, s.Member)
	if !w.takesBinlog(i) {
		return
	}
	if !w.going(pump, i) || !w.seen.going[pump][i] {
		w.judgeWanted(pump, i, say)
	}
	if w.Binlog && w.anyPodOf(tidb) && max(w.online(), w.seen.pumps) < 2 {
		say("binlog", "%s is the last Pump", s.Member)
	}
}

// judgeUnread checks that a Pump leaves only when drainers have read what it has.
func (w *Model) judgeUnread(i int, say sayer) {
	if w.seen.unread[i] && w.unread(i) {
		say("binlog", "drainers wait for %s, which is %s", w.names[pump][i], w.pumps[i].state)
	}
}

// restOfPumps: drainers wait for no Pump that is not there.
func (w *Model) restOfPumps() {
	for i, r := range w.pumps {
		if r != nil && !w.Intent.Suspend[pump] && !w.Intent.wants(pump, i) && w.unread(i) {
			w.broke("rest", "%s is not there, and %s", w.names[pump][i], r.state)
		}
	}
}

// keepPump asks for a Pump again, or for one more, as a gate asks a person to do.
func (w *Model) keepPump(g plan.Gate) {
	if g.Blocked && (g.Reason == plan.BinlogReceived || g.Reason == plan.PumpServing) {
		n := max(1, w.Intent.Replicas[pump])
		if i, ok := w.index(g.Component, g.Member); ok && g.Component == topology.Pump && w.Intent.wants(pump, i) {
			n = min(n+1, limit-1) // a wanted one is to leave for a while, since its data is being deleted
		}
		w.Scale(topology.Pump, n)
	}
}

// wakePump deletes pods of Pumps that were paused, as a gate asks a person to do.
func (w *Model) wakePump(g plan.Gate) {
	if !g.Blocked || g.Reason != plan.PumpOffline {
		return
	}
	i, _ := w.index(g.Component, g.Member)
	switch p := w.pods[pump][i]; {
	case p == nil && w.pumps[i] != nil:
		w.note("user: %s is offline", g.Member)
		w.pumps[i].state = state.PumpOffline
	case p != nil && !p.terminating():
		w.note("user: delete pod %s", g.Member)
		w.remove(p)
	}
}

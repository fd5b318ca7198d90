package sim

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// deleteSet deletes a StatefulSet, which stays until its pods have gone.
func (w *Model) deleteSet(s step.DeleteSet) error {
	set := &w.sets[kindOf(s.Component)]
	switch {
	case !set.exists || set.leaving:
		return nil
	case !w.is(kindOf(s.Component), s.Basis):
		return errConflict
	}
	set.leaving = true
	set.generation++
	// Only PD knows whose claims are marked above the replicas.
	shown := w.view.snap.Groups[s.Component].Set
	w.tellable[kindOf(s.Component)] = members{shown.Replicas, w.slotsAt(shown.Slots)}
	if w.seen.serving && w.serving() {
		w.tellable[kindOf(s.Component)] = members{replicas: limit}
	}
	return nil
}

// collect is the garbage collector: first the pods are deleted, then the StatefulSet. The
// claims have no owner and stay.
func (w *Model) collect(k kind) {
	left := false
	for _, p := range w.pods[k] {
		if p == nil {
			continue
		}
		left = true
		if !p.terminating() {
			w.remove(p)
		}
	}
	if !left {
		w.sets[k] = set{generation: w.sets[k].generation + 1}
	}
}

// there reports whether something of the component is there that could serve, or will be.
func (w *Model) there(k kind) bool {
	if w.sets[k].exists {
		return true
	}
	for _, p := range w.pods[k] {
		if p != nil {
			return true
		}
	}
	return false
}

// judgeSuspend checks that components that need this one are suspended first. It checks that the
// user asks for the suspension, and that nothing is deleted that is wanted later.
func (w *Model) judgeSuspend(s step.DeleteSet, say sayer) {
	k := kindOf(s.Component)
	if !w.seen.intent.Suspend[k] && !w.Intent.Suspend[k] {
		say("wanted", "the user wants %s to run", kinds[k].Title())
	}
	for later := int(k) + 1; later < len(kinds) && !kinds[k].Optional(); later++ {
		if w.seen.there[later] && w.there(kind(later)) {
			say("suspension", "%s is still there", kinds[later].Title())
		}
	}
	for i, p := range w.pods[k] {
		if p != nil && !p.terminating() && w.dataBeingDeleted(k, i) {
			say("data", "%s loses its data with its pod, and PD counts on it", w.names[k][i])
		}
	}
	if k.data() != topology.None {
		w.judgeLeftBehind(k, say)
	}
}

// judgeLeftBehind checks that nothing that was begun stays behind where it could not be
// ended.
func (w *Model) judgeLeftBehind(k kind, say sayer) {
	for _, st := range w.stores {
		if e := w.evicts[st.id]; !k.learns() && k.data() != topology.Binlog && e != nil && e.ours && w.seen.evicts[st.id] && w.seen.serving && w.serving() {
			say("suspension", "store %d still gives its leaders up", st.id)
		}
	}
	for i, c := range w.claims[k] {
		if c != nil && c.marked && w.seen.marked[k][i] && w.counted(k, i) && w.seen.serving {
			say("suspension", "%s is marked, but holds data that counts", c.name)
		}
	}
}

// counted reports whether the database counts on the data of an ordinal.
func (w *Model) counted(k kind, i int) bool {
	c := w.claims[k][i]
	if c == nil || c.data == 0 {
		return false
	}
	if k.data() == topology.Raft {
		return w.pd.member(c.data) != nil
	}
	return w.storeOf(k, i) != nil
}

// restOfSuspended checks a component that the user wants suspended.
func (w *Model) restOfSuspended(k kind) {
	if w.there(k) {
		w.broke("rest", "%s is not suspended", kinds[k].Title())
	}
	asked := !w.Intent.Suspend[pd] && w.serving() && w.storesKnown()
	for i, c := range w.claims[k] {
		if c != nil && c.marked && !c.markedLate && w.counted(k, i) && (asked || w.tellable[k].has(i)) {
			w.broke("rest", "%s is marked, but holds data that counts", c.name)
		}
	}
}

// judgePaused checks that an engine that was shown a paused cluster does nothing. It may only end a
// pause whose time is over.
func (w *Model) judgePaused(s step.Step, say sayer) {
	_, ends := s.(step.EndPause)
	switch {
	case !w.Intent.Paused:
	case ends && (w.Intent.PausedUntil == 0 || w.t < w.Intent.PausedUntil):
		say("paused", "the pause is not over")
	case !ends && w.view.intent.Paused:
		say("paused", "the user wants nothing done")
	}
}

// pauseRecord is the record of a pause that ends by itself.
func (w *Model) pauseRecord() topology.Pause {
	if !w.Intent.Paused || w.Intent.PausedUntil == 0 {
		return topology.Pause{}
	}
	return topology.Pause{By: "ann@laptop", Until: w.at(w.Intent.PausedUntil), Recorded: true}
}

// PauseFor is the user pausing the cluster for some time.
func (w *Model) PauseFor(d time.Duration) {
	w.Intent.Paused, w.Intent.PausedUntil = true, w.t+int64(d/time.Second)
	w.note("user: paused for %s", d)
}

// togglePause is the user pausing the cluster, sometimes for a while only, or resuming it. Which of
// them is drawn by the time, so that other runs stay as they are.
func (w *Model) togglePause() {
	w.Intent.Paused, w.Intent.PausedUntil = !w.Intent.Paused, 0
	if w.Intent.Paused && w.t%3 == 0 {
		w.PauseFor(time.Duration(30+w.t%600) * time.Second)
		return
	}
	w.note("user: paused %t", w.Intent.Paused)
}

// endPause ends a pause as package act does: not one that was begun, or made longer, since.
func (w *Model) endPause() error {
	switch {
	case !w.Intent.Paused:
		return nil
	case w.Intent.PausedUntil == 0 || w.t < w.Intent.PausedUntil:
		return errConflict
	}
	w.Intent.Paused, w.Intent.PausedUntil = false, 0
	return nil
}

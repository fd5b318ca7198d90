package sim

import (
	"slices"
	"strings"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
)

// What people do in PD by hand: the engine leaves that as it is.

// deleteStore takes a store offline, as a person does, if PD has stores enough.
func (w *Model) deleteStore() {
	up := 0
	for _, s := range w.stores {
		if s.byHand && s.state == state.StoreOffline {
			w.cancelDelete(s) // one at a time
			return
		}
		if s.state == state.StoreUp && w.shownState(s) == state.StoreUp {
			up++
		}
	}
	if up <= w.MaxCopy {
		return
	}
	if s := w.stores[w.rng.IntN(len(w.stores))]; s.state == state.StoreUp {
		w.note("fault: a person deletes store %d in PD", s.id)
		w.offlineByHand(s)
	}
}

// offlineByHand takes a store offline, as a person does. With a record in our ledger it looks as if
// we did it.
func (w *Model) offlineByHand(s *store) {
	s.state, s.byHand, s.emptyAt = state.StoreOffline, !w.removing(s.id), w.t
}

// cancelDelete is a person who takes that back.
func (w *Model) cancelDelete(s *store) {
	if s.byHand && s.state == state.StoreOffline {
		w.note("user: store %d is to stay in PD", s.id)
		s.state, s.byHand = state.StoreUp, false
	}
}

// judgeReversed checks that what a person did in PD is not undone.
func (w *Model) judgeReversed(next step.RestoreStore, say sayer) {
	if s := w.store(next.StoreID); s != nil && s.byHand && s.state == state.StoreOffline && slices.Contains(w.seen.byHand, s.id) {
		say("reversed", "a person has taken store %d offline", s.id)
	}
}

// broken is a step that fails each time, as a webhook or a quota can make it.
type broken struct {
	action, component string
	until             int64
}

// breakStep has one kind of step for one component fail for half an hour.
func (w *Model) breakStep() {
	actions := [...]string{"Apply", "Resize", "Restart", "EvictLeaders", "AllowLeaders", "MarkClaims", "MoveLeader"}
	w.broken = broken{
		action: actions[w.rng.IntN(len(actions))], component: string(kinds[w.anyKind()]), until: w.t + w.between(300, 1800),
	}
	w.note("fault: %s of %s fails until %s", w.broken.action, w.broken.component, clock(w.broken.until))
}

// fails reports whether a step is the one that fails each time.
func (b broken) fails(s step.Step, now int64) bool {
	k, _ := s.Target()
	return now < b.until && s.Action() == b.action && strings.EqualFold(string(k), b.component)
}

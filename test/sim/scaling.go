package sim

import (
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// judgeResize looks at every ordinal that comes or goes.
func (w *Model) judgeResize(s step.Resize, say sayer) {
	k := kindOf(s.Component)
	from, to := w.resizes(s)
	joining, leaving := 0, 0
	for i := range limit {
		switch {
		case from.has(i) && !to.has(i):
			leaving++
			w.judgeShrink(k, i, say)
		case to.has(i) && !from.has(i):
			joining++
			if k.data() == topology.Raft {
				w.countVoter(i)
			}
		}
	}
	most := func(asked int) int {
		if k.data() == topology.Raft {
			return 1
		}
		return max(1, asked)
	}
	if n := w.lostSlot(topology.Ordinals{Count: s.To, Slots: s.SlotsTo}); n >= 0 {
		say("slots", "ordinal %d, which nobody wants, is no slot any more", n)
	}
	if joining > most(w.ScaleOut) || leaving > most(w.ScaleIn) {
		say("at-once", "%d members join and %d leave at once", joining, leaving)
	}
}

// lostSlot returns an ordinal of a StatefulSet that is a slot of all components from the beginning, -1 for none. The model
// has no member for such an ordinal.
func (w *Model) lostSlot(o topology.Ordinals) int {
	if i := slices.IndexFunc(w.Slots, o.Has); i >= 0 {
		return w.Slots[i]
	}
	return -1
}

// resizes returns the members before and after a change of replicas and slots.
func (w *Model) resizes(s step.Resize) (from, to members) {
	return members{s.From, w.slotsAt(s.SlotsFrom)}, members{s.To, w.slotsAt(s.SlotsTo)}
}

func (w *Model) judgeShrink(k kind, i int, say sayer) {
	if !w.worthless(k, i) {
		w.judgeLoss(k, i, say)
	}
	switch k.data() {
	case topology.Raft:
		if w.seen.members[i] && w.pd.memberAt(i) != nil {
			say("tombstone", "PD still counts on %s", w.names[k][i])
		}
	case topology.Store:
		if s := w.storeOf(k, i); s != nil && w.seen.stores[k][i] {
			say("tombstone", "store %d of %s is %s", s.id, w.names[k][i], s.state)
		}
	case topology.Binlog:
		w.judgeUnread(i, say)
	case topology.None:
		if drains[k] {
			w.judgeTables(i, say)
			w.judgeFeeds(i, say)
		}
	}
	if k.data() != topology.Store || w.seen.stores[k][i] {
		w.judgeWanted(k, i, say)
	}
}

// worthless reports whether at one of the two moments nothing could be lost with the
// member.
func (w *Model) worthless(k kind, i int) bool {
	switch k.data() {
	case topology.Raft:
		return !w.seen.members[i] || w.pd.memberAt(i) == nil
	case topology.Store:
		return !w.seen.stores[k][i] || w.storeOf(k, i) == nil
	}
	return !w.served(k, i)
}

// judgeCopies checks that enough stores for all copies stay when a store is taken offline. No more
// stores may leave than the user allows at the same time. A store that leaves or has left stays as
// it is: a second engine has only sent its request later.
func (w *Model) judgeCopies(victim int, id uint64, say sayer) {
	if s := w.store(id); s != nil && s.state != state.StoreUp {
		return
	}
	up, offline := 0, 1
	for _, o := range w.stores {
		if o.elsewhere() && o.state == state.StoreUp && o.runs {
			up++
		}
	}
	for i := range limit {
		if o := w.ownStore(i); w.serves(tikv, i) && o.state == state.StoreUp {
			up++
		}
		if i != victim && w.scaledIn(i) {
			offline++
		}
	}
	if w.served(tikv, victim) && w.ownStore(victim).state == state.StoreUp && max(up, w.seen.upStores)-1 < w.MaxCopy {
		say("copies", "%d other stores are up", max(up, w.seen.upStores)-1)
	}
	// A store that leaves because its claim is being deleted is not counted.
	if offline > max(1, w.ScaleIn) && w.Faults.Kubectl == 0 && !w.going(tikv, victim) {
		say("at-once", "%d stores are offline", offline)
	}
}

// scaledIn reports whether a store is leaving because it is not wanted. No person has taken the
// store offline, and its claim is not being deleted.
func (w *Model) scaledIn(i int) bool {
	s := w.ownStore(i)
	return s != nil && w.sets[tikv].spec.has(i) && s.state == state.StoreOffline && !s.byHand && !w.going(tikv, i) && !w.wantedBoth(tikv, i)
}

// countVoter counts a voter that is added while another one is missing: the quorum can
// then spare none. PD itself refuses what would cost the quorum.
func (w *Model) countVoter(i int) {
	if c := w.claims[pd][i]; c != nil && c.data != 0 && w.pd.member(c.data) != nil {
		return // it is one already
	}
	w.judgeLoss(pd, i, func(string, string, ...any) { w.Soft.VotersRushed++ })
}

func (w *Model) judgeClaim(s step.DeleteClaim, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	c := w.claims[k][i]
	switch {
	case c == nil || c.goneAt != never: // it is being deleted already, so this does nothing
	case !c.marked && w.nap.woke: // the mark was taken off meanwhile, which package act sees
	case !c.marked:
		say("data", "%s is not marked", c.name)
	case w.pods[k][i] != nil && s.PodUID == "":
		say("data", "%s is used by a pod", c.name)
	case k.data() == topology.Store && w.storeOf(k, i) != nil:
		say("data", "%s holds store %d", c.name, c.data)
	case k.data() == topology.Raft && c.data != 0 && w.pd.member(c.data) != nil:
		say("data", "%s holds a PD member", c.name)
	case k.data() == topology.Binlog && w.unread(i):
		say("data", "drainers wait for what %s holds", c.name)
	}
	if s.Reclaim && (!w.Reclaims || w.wantedBoth(k, i)) {
		say("data", "the user wants %s", w.names[k][i])
	}
}

// judgePod checks that a recreated pod has nothing more to lose. It must not get back what keeps it
// from serving.
func (w *Model) judgePod(s step.DeletePod, say sayer) {
	k := kindOf(s.Component)
	i, _ := w.index(s.Component, s.Member)
	c, p := w.claims[k][i], w.pods[k][i]
	switch {
	case p == nil || p.uid != s.UID: // another engine was faster, so this does nothing
	case s.Again:
		if c != nil && c.data != 0 {
			say("data", "%s has data", c.name)
		}
	case c != nil && c.goneAt == never:
		say("data", "%s would be used again", c.name)
	case c != nil && c.data != 0 && !w.gone(k, i):
		say("data", "%s serves with %s", s.Member, c.name)
	}
}

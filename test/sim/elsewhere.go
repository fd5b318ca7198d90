package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
)

// Stores of another TidbCluster that has the same PD. Regions have replicas there as on the stores here, and no engine
// that is simulated drives them.

// drawElsewhere gives one simulated cluster in five up to three stores elsewhere. Placement rules ask for none of them,
// so clusters with such rules have none. That is drawn separately, so that the other runs stay as they are.
func drawElsewhere(o *Options) {
	rng := rand.New(rand.NewPCG(o.Seed, 35))
	if rng.IntN(5) > 0 || len(o.Zones)+len(o.Tiers) > 0 {
		return
	}
	o.StoresElsewhere, o.Faults.StoreElsewhere = 1+rng.IntN(3), pick(rng, 1./300, 1./100)
}

// elsewhere reports whether a store is none of the cluster's members.
func (s *store) elsewhere() bool { return s.ordinal >= limit }

// nameOf names a store.
func (w *Model) nameOf(s *store) string {
	if s.elsewhere() {
		return fmt.Sprintf("store %d elsewhere", s.id)
	}
	return w.names[s.k][s.ordinal]
}

// joinElsewhere has stores elsewhere join once the cluster has a store.
func (w *Model) joinElsewhere() {
	if w.StoresElsewhere == 0 || len(w.stores) == 0 || !w.serving() {
		return
	}
	n := w.StoresElsewhere
	for _, s := range w.stores {
		if s.elsewhere() && s.state != state.StoreTombstone {
			n--
		}
	}
	if n > 0 {
		s := w.addStore(tikv, limit+len(w.stores))
		w.note("%s joins", w.nameOf(s))
	}
}

// runsElsewhere reports whether the process of a store elsewhere is there.
func (w *Model) runsElsewhere(s *store) bool {
	return w.t >= s.awayUntil && s.state != state.StoreTombstone
}

// changeElsewhere is what happens to a store elsewhere. The store is away for a while, or for so long that PD replaces
// its replicas. Or it leaves, or is to stay after all.
func (w *Model) changeElsewhere() {
	var all []*store
	for _, s := range w.stores {
		if s.elsewhere() && s.state != state.StoreTombstone {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return
	}
	s := all[w.rng.IntN(len(all))]
	switch w.rng.IntN(6) {
	case 0:
		if w.rng.IntN(3) == 0 {
			s.awayUntil = w.t + w.between(1900, 4500)
			break
		}
		fallthrough
	case 1, 2, 3:
		s.awayUntil = w.t + w.between(20, 900)
	case 4:
		w.cancelDelete(s)
		return
	case 5:
		if w.upStores() > w.MaxCopy && s.state == state.StoreUp {
			w.note("fault: %s is to leave PD", w.nameOf(s))
			w.offlineByHand(s)
		}
		return
	}
	w.note("fault: %s is away until %s", w.nameOf(s), clock(s.awayUntil))
}

// upStores is how many stores PD counts as such that are not leaving.
func (w *Model) upStores() int {
	n := 0
	for _, s := range w.stores {
		if s.k.leads() && s.state == state.StoreUp && w.shownState(s) == state.StoreUp {
			n++
		}
	}
	return n
}

// notUpElsewhere is what PD shows of stores elsewhere that it does not call Up.
func (w *Model) notUpElsewhere() []state.StoreElsewhere {
	var all []state.StoreElsewhere
	for _, s := range w.stores {
		shown := w.shownState(s)
		if (s.elsewhere() || s.k.leads() && w.isUnlisted(s)) && shown != state.StoreUp && shown != state.StoreTombstone {
			all = append(all, state.StoreElsewhere{ID: s.id, Address: w.nameOf(s), State: shown, Serves: w.leavesServing(s)})
		}
	}
	return all
}

// leavesServing reports whether PD shows a store as Offline whose last heartbeat is recent. The store serves by all
// reports while its regions leave it.
func (w *Model) leavesServing(s *store) bool {
	return w.shownState(s) == state.StoreOffline && w.t-s.heartbeat < firstBeat
}

// sightElsewhere returns which stores elsewhere serve, or do so by all reports.
func (w *Model) sightElsewhere() map[uint64]bool {
	all := map[uint64]bool{}
	for _, s := range w.stores {
		if s.elsewhere() {
			all[s.id] = w.runsElsewhere(s) || w.shownState(s) == state.StoreUp || w.leavesServing(s)
		}
	}
	return all
}

// judgeElsewhere checks that nothing is taken away while a store elsewhere is missing that has replicas of regions. A
// store that has joined and stopped while the engine slept is not known to be missing before PD says so.
func (w *Model) judgeElsewhere(say sayer) {
	for _, s := range w.stores {
		unknown := w.nap.woke && w.shownState(s) == state.StoreUp
		if s.elsewhere() && s.regions > 0 && !w.runsElsewhere(s) && !w.seen.elsewhere[s.id] && !unknown {
			say("peer-down", "%s does not serve", w.nameOf(s))
		}
	}
}

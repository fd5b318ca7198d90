package sim

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// evictLeaders writes the record first: an eviction that is not recorded is never ended.
func (w *Model) evictLeaders(s step.EvictLeaders) error {
	i, _ := w.index(kinds[tikv], s.Member)
	if p := w.pods[tikv][i]; s.PodUID != "" && (p == nil || p.uid != s.PodUID) {
		return errConflict
	}
	there := w.evicts[s.StoreID]
	r := record{Eviction: state.Eviction{StoreID: s.StoreID, Member: s.Member, Since: w.Now()}, owner: w.owner}
	r.Leaders = max(s.Leaders, 0)
	old, known := w.recordOf(s.StoreID)
	r.theirs = there != nil && (old.theirs || !known || !old.Ended.IsZero())
	if known && old.Ended.IsZero() {
		r.Leaders = max(r.Leaders, old.Leaders)
		if there != nil || old.owner == w.owner {
			r.Since = old.Since
		}
	}
	w.writeRecord(r)
	if w.endsHalfWay() {
		return errHalfWay
	}
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if st := w.store(s.StoreID); st == nil || st.state == state.StoreTombstone {
		return fmt.Errorf("store %d not found", s.StoreID)
	}
	if w.t < w.pd.loadedAt {
		return errNotLoaded
	}
	if w.evicts[s.StoreID] == nil {
		w.evicts[s.StoreID] = &scheduler{ours: true}
	}
	w.moveAgain()
	return nil
}

// adoptEviction writes the record before it takes tidb-operator's mark off the pod.
func (w *Model) adoptEviction(s step.AdoptEviction) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if _, known := w.recordOf(s.StoreID); w.evicts[s.StoreID] != nil && !known {
		if s.Ended {
			return errConflict
		}
		w.evicts[s.StoreID].ours = true
		w.writeRecord(record{owner: w.owner, Eviction: state.Eviction{
			StoreID: s.StoreID, Member: s.Member, Since: s.Since, Leaders: max(s.Leaders, 0),
		}})
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	i, _ := w.index(topology.TiKV, s.Member)
	if p := w.pods[tikv][i]; p != nil && p.uid == s.PodUID {
		p.evictionBegun = time.Time{}
	}
	return nil
}

// allowLeaders takes the record away last, for the same reason.
func (w *Model) allowLeaders(s step.AllowLeaders) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if w.t < w.pd.loadedAt {
		return errNotLoaded
	}
	r, known := w.recordOf(s.StoreID)
	if known && !r.theirs && r.Ended.IsZero() {
		delete(w.evicts, s.StoreID)
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	if !known || !s.Returning {
		w.forgetRecord(s.StoreID)
		return nil
	}
	if r.Ended.IsZero() {
		r.Ended = w.Now()
	}
	w.writeRecord(r)
	return nil
}

// stillEvicting fails as package act does if the eviction for a restart has ended, in our ledger or in PD.
func (w *Model) stillEvicting(s step.Restart) error {
	id := s.StoreID
	if id == 0 {
		return nil
	}
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if w.t < w.pd.loadedAt {
		return errNotLoaded
	}
	if r, known := w.recordOf(id); !known || !r.Ended.IsZero() || w.evicts[id] == nil {
		return errConflict
	}
	return w.peersUp(id, s.NotUp)
}

func (w *Model) writeRecord(r record) {
	w.forgetRecord(r.StoreID)
	w.ledger = append(w.ledger, r)
}

// record is an entry of our ledger. It names the run that made it and whether the scheduler was there before. So the
// clock of an old run, or the scheduler of another user, is not used as ours.
type record struct {
	state.Eviction
	owner  int
	theirs bool
}

func (w *Model) recordOf(id uint64) (record, bool) {
	for _, r := range w.ledger {
		if r.StoreID == id {
			return r, true
		}
	}
	return record{}, false
}

func (w *Model) forgetRecord(id uint64) {
	var keep []record
	for _, e := range w.ledger {
		if e.StoreID != id {
			keep = append(keep, e)
		}
	}
	w.ledger = keep
}

// checkEvictions checks that leaders are evicted only from stores that are to be restarted or removed. A store whose
// claim is being deleted counts too, and one that a user has named to be replaced.
func (w *Model) checkEvictions(todo step.Step) {
	idle := 0
	next := w.next(tikv)
	for i := range limit {
		s := w.ownStore(i)
		if s == nil || w.evicts[s.id] == nil || !w.evicts[s.id].ours {
			continue
		}
		if i != next && !w.inBatch(i) && w.Intent.wants(tikv, i) && w.serves(tikv, i) && !w.going(tikv, i) && !w.replaces(tikv, i) {
			idle++
		}
	}
	most := max(1, w.ScaleIn) // a scale-in that was just called off had as many leaving
	if w.view.intent != w.Intent {
		most++ // and a rollout that was called off with it, since the step was decided, had one to restart
	}
	if idle > most {
		w.broke("evictions", "%s: %d stores give their leaders up without need", todo, idle)
	}
}

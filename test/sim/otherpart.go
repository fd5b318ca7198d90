package sim

import (
	"encoding/json"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Another part of the database, whose stores are the stores elsewhere. Its driver takes a store away from time to time, by
// the rules of the lock that all parts share: only with the lock, only while PD calls all stores Up, and until the store is
// back. It may be killed, and then PD ends the lock. The first tier has no PD with a lock, and no such part.

// PartLock is that lock in PD's etcd, with its lease.
type PartLock struct {
	Value []byte // nil for none
	Lease uint64
	Ends  time.Time
}

// partLockLasts is how long the lock lasts without a renewal.
const partLockLasts = 90 * time.Second

// PartLock returns the lock, which ends with its lease.
func (w *Model) PartLock() *PartLock {
	if w.partLock.Value != nil && w.Now().After(w.partLock.Ends) {
		w.partLock.Value = nil
	}
	return &w.partLock
}

// otherPart is what the driver of the other part does.
type otherPart struct {
	holds   bool
	leaving bool  // the leaders of the store leave, and the store serves yet
	until   int64 // when that ends
	target  *store
	takes   int // how many stores it has taken away
	// taken are the pods here that a step of the plugin has taken away. No other one of the same member has served since.
	taken [components][limit]string
}

// otherPartLease is the lease of the other part, which no lease of the plugin is.
const otherPartLease = 1 << 40

// tickOtherPart is a second of the other part.
func (w *Model) tickOtherPart() {
	o := &w.otherPart
	if !w.OtherPart || !w.serving() {
		return // PD has no quorum, so that nobody takes or renews the lock
	}
	l := w.PartLock()
	if o.holds = o.holds && l.Lease == otherPartLease && l.Value != nil; !o.holds {
		if w.chaos && l.Value == nil && w.rng.IntN(20) == 0 {
			w.takePartLock(l)
		}
		return
	}
	l.Ends = w.Now().Add(partLockLasts)
	w.useLock(l)
	if w.chaos && w.rng.IntN(600) == 0 {
		w.note("the driver of the other part is killed")
		o.holds = false
	}
}

// useLock is a second in which the other part has the lock.
func (w *Model) useLock(l *PartLock) {
	o := &w.otherPart
	switch {
	case w.t < o.until:
	case o.leaving && (!w.allShownUp() || o.target.state != state.StoreUp):
		w.note("the other part waits for a store")
		l.Value = nil
	case o.leaving:
		o.leaving, o.takes = false, o.takes+1
		w.judgeTogether()
		o.target.awayUntil = w.t + w.between(15, 150)
		o.until = o.target.awayUntil + 1
		w.note("the other part restarts %s until %s", w.nameOf(o.target), clock(o.target.awayUntil))
	case o.target.runs && o.target.heartbeat >= o.target.awayUntil || o.target.state != state.StoreUp:
		w.note("the other part is done with %s", w.nameOf(o.target))
		l.Value = nil
	}
}

// takePartLock has the other part take the lock, for one of its stores.
func (w *Model) takePartLock(l *PartLock) {
	for _, s := range w.stores {
		if s.elsewhere() && s.state == state.StoreUp && w.runsElsewhere(s) && w.allShownUp() {
			value, _ := json.Marshal(map[string]any{"uid": "other", "part": "db/other", "nonce": w.uid(), "holder": "the other part", "since": w.Now()})
			*l = PartLock{Value: value, Lease: otherPartLease, Ends: w.Now().Add(partLockLasts)}
			w.otherPart.holds, w.otherPart.leaving, w.otherPart.target, w.otherPart.until = true, true, s, w.t+w.between(5, 60)
			w.note("the other part takes the lock for %s", w.nameOf(s))
			return
		}
	}
}

// allShownUp reports whether PD calls all stores Up, which is all that the other part can see of stores here.
func (w *Model) allShownUp() bool {
	for _, s := range w.stores {
		if shown := w.shownState(s); s.k.leads() && shown != state.StoreUp && shown != state.StoreTombstone {
			return false
		}
	}
	return true
}

// judgeTogether checks that the plugin has given no lock up, and let none end, while a store is away that PD calls Up.
func (w *Model) judgeTogether() {
	for i, uid := range w.otherPart.taken[tikv] {
		if s := w.storeOf(tikv, i); uid != "" && s != nil && !s.runs && w.shownState(s) == state.StoreUp {
			w.broke("parts", "the other part takes %s away while %s is away", w.nameOf(w.otherPart.target), w.names[tikv][i])
		}
	}
}

// judgeOtherPart checks that no member that serves is taken away while the other part has the lock.
func (w *Model) judgeOtherPart(k kind, victim int, say sayer) {
	if l := w.PartLock(); w.OtherPart && l.Value != nil && l.Lease == otherPartLease && k.data() != topology.None && w.served(k, victim) {
		say("parts", "another part has the lock")
	}
}

// noteTaken notes a restart that the plugin has begun.
func (w *Model) noteTaken(s step.Step) {
	if r, ok := s.(step.Restart); ok {
		k := kindOf(r.Component)
		if i := w.numberOf(r.Ordinal); w.pods[k][i] != nil {
			w.otherPart.taken[k][i] = w.pods[k][i].uid
		}
	}
}

// forgetTaken forgets the restarts of members that serve again with another pod.
func (w *Model) forgetTaken() {
	for k := range w.otherPart.taken {
		for i, uid := range w.otherPart.taken[k] {
			if p := w.pods[k][i]; uid != "" && p != nil && p.uid != uid && p.ready {
				w.otherPart.taken[k][i] = ""
			}
		}
	}
}

// OtherPartTakes is how many stores the other part has taken away.
func (w *Model) OtherPartTakes() int { return w.otherPart.takes }

package sim

import (
	"fmt"
	"slices"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// store is a store of TiKV or TiFlash as PD knows it. Its state is PD's stored one: Up,
// Offline or Tombstone; Disconnected and Down follow from the heartbeat.
type store struct {
	id        uint64
	k         kind // tikv or tiflash
	ordinal   int
	state     state.StoreState
	announced int64 // when the process that runs has registered in PD
	heartbeat int64 // the last one that PD knows of, noHeartbeat if there is none
	dated     int64 // its date, by PD's clock
	saved     int64 // the last one that PD has saved
	savedDate int64 // its date
	unsaved   bool  // PD's leader has saved none yet
	beatAt    int64 // when the next one is sent
	leaders   int
	regions   int
	emptyAt   int64 // when an Offline store ran out of regions
	runs      bool  // its process answers its peers
	byHand    bool  // a person took it offline
	moved     int   // replicas that PD has moved off it, or to it, in this second
	stays     int64 // until when PD moves no replicas off it
	deadAt    int64 // when its process was found missing, 0 while it is there
	muffled   int64 // until when its heartbeats do not arrive
	unlisted  int64 // until when PD lists it under another address
	// unlistedPod is the pod whose process has announced that address.
	unlistedPod string
	awayUntil   int64  // until when the process of a store elsewhere is not there
	template    string // that of the pod whose process has registered
	used        topology.Size
}

// scheduler is an evict-leader scheduler in PD.
type scheduler struct {
	ours bool
}

const (
	heartbeats    = 10 // seconds between two of them, and until the first one of a new store
	firstBeat     = 30 // seconds in which the engine waits for that one while the store answers itself
	soonStarted   = 120
	noHeartbeat   = -1 << 40
	disconnected  = 20
	downAfter     = 30 * 60
	tombstoneTime = 8 // an empty Offline store becomes a tombstone after this time
)

// shownState is the state's name in PD's answers.
func (w *Model) shownState(s *store) state.StoreState {
	switch {
	case s.state != state.StoreUp:
		return s.state
	case w.dated()-s.dated > downAfter:
		return state.StoreDown
	case w.dated()-s.dated > disconnected:
		return state.StoreDisconnected
	}
	return state.StoreUp
}

func (w *Model) store(id uint64) *store {
	for _, s := range w.stores {
		if s.id == id {
			return s
		}
	}
	return nil
}

// running: the store's process is there, with the store's data.
func (w *Model) storeRuns(s *store) bool {
	if s.elsewhere() {
		return w.runsElsewhere(s)
	}
	p, c := w.pods[s.k][s.ordinal], w.claims[s.k][s.ordinal]
	return w.works(p) && c != nil && c.data == s.id && s.state != state.StoreTombstone
}

func (w *Model) tickStores() {
	for _, k := range storeKinds {
		for i, p := range w.pods[k] {
			if c := w.claims[k][i]; w.works(p) && c != nil {
				w.attach(k, i, p, c)
			}
		}
	}
	w.joinElsewhere()
	for _, s := range w.stores {
		if s.state == state.StoreTombstone {
			continue
		}
		runs := w.storeRuns(s)
		switch {
		case runs:
			s.deadAt = 0
			w.report(s)
		case s.deadAt == 0:
			s.deadAt = w.t
		}
		s.runs = runs && w.storeUp(s)
		w.turnTombstone(s)
	}
	w.tickRegions()
}

// report is what a store reports to PD: that its process has started, and heartbeats.
func (w *Model) report(s *store) {
	if !w.serving() {
		return
	}
	if !s.elsewhere() {
		p := w.pods[s.k][s.ordinal]
		if w.t < p.started+w.opening(s, p) {
			return
		}
		if s.announced < p.started {
			s.announced, s.beatAt, s.template = w.t, w.t, p.revision
		}
	}
	if w.t >= s.muffled && w.t >= s.beatAt {
		w.beat(s)
	}
}

// opening returns how many seconds a process needs to open a store's data. The pod is Ready then, and PD still calls
// the store Up because of the process before.
func (w *Model) opening(s *store, p *pod) int64 {
	if w.chaos {
		return 2 + (p.started+int64(s.id))%30
	}
	return max(2, w.opensFor)
}

// storeKinds are the components whose members are stores.
var storeKinds = [...]kind{tikv, tiflash}

// attach is what a process of a store does when it starts. The first store is one of TiKV.
func (w *Model) attach(k kind, i int, p *pod, c *claim) {
	if c.data != 0 {
		if s := w.store(c.data); s.state == state.StoreTombstone {
			w.halt(p, 40) // "store is tombstone"
		}
		return
	}
	if !w.serving() || w.t < p.started+4 || k.learns() && len(w.stores) == 0 {
		return
	}
	if k.learns() && w.flash.off {
		w.halt(p, 40) // "placement rules is disabled"
		return
	}
	for _, s := range w.stores {
		if s.k == k && s.ordinal == i && s.state != state.StoreTombstone {
			w.halt(p, 40) // PD refuses a second store at the same address
			return
		}
	}
	s := w.addStore(k, i)
	c.data, s.template = s.id, p.revision
}

// addStore registers a store in PD.
func (w *Model) addStore(k kind, ordinal int) *store {
	s := &store{id: uint64(len(w.stores) + 1), k: k, ordinal: ordinal, state: state.StoreUp, announced: w.t, beatAt: w.t + heartbeats, unsaved: true}
	s.heartbeat, s.dated, s.saved, s.savedDate = noHeartbeat, noHeartbeat, noHeartbeat, noHeartbeat
	if len(w.stores) == 0 {
		w.firstRegions(s)
	}
	w.stores = append(w.stores, s)
	w.short = true
	return s
}

// turnTombstone turns a store into a tombstone that is Offline and has no regions left.
func (w *Model) turnTombstone(s *store) {
	switch {
	case s.state != state.StoreOffline || !w.serving():
	case s.regions > 0:
		s.emptyAt = w.t
	case w.t-s.emptyAt >= tombstoneTime:
		s.state = state.StoreTombstone
	}
}

// turningTombstone reports whether PD is about to turn a store into a tombstone. No run waits for that in a
// suspended component, and the next run does what is left to do.
func (w *Model) turningTombstone() bool {
	return w.serving() && slices.ContainsFunc(w.stores, func(s *store) bool {
		return s.state == state.StoreOffline && (s.regions == 0 || w.tooMany(s))
	})
}

// removeStore writes the record first: only what is recorded is taken back.
func (w *Model) removeStore(next step.RemoveStore) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	id := next.StoreID
	s := w.store(id)
	switch {
	case s == nil:
		return fmt.Errorf("store %d not found", id)
	case s.state != state.StoreUp:
		return nil
	case next.Down && w.shownState(s) == state.StoreUp:
		return errConflict
	}
	if err := w.peersUp(id, next.NotUp); err != nil {
		return err
	}
	for _, r := range w.removals { // as package act does
		if r.StoreID != id && !slices.Contains(next.Removals, r.StoreID) && w.removedBy[r.StoreID] != w.owner {
			return errConflict
		}
	}
	if !w.removing(id) {
		w.removals = append(w.removals, state.Removal{StoreID: id, Member: next.Member, Since: w.Now()})
		w.removedBy[id] = w.owner
	}
	if w.endsHalfWay() {
		return errHalfWay
	}
	return w.takeOffline(s)
}

// peersUp fails as package act does if a store that was Up when a step was decided is not Up now.
func (w *Model) peersUp(id uint64, notUp []uint64) error {
	for _, s := range w.stores {
		away := s.state == state.StoreUp && w.shownState(s) != state.StoreUp
		if away && s.id != id && !s.k.learns() && !slices.Contains(notUp, s.id) {
			return errConflict
		}
	}
	return nil
}

// takeOffline is what PD does with a store that is to leave.
func (w *Model) takeOffline(s *store) error {
	up := 0
	for _, o := range w.stores {
		if o.state == state.StoreUp {
			up++ // PD counts those that are disconnected too
		}
	}
	if up-1 < w.MaxCopy {
		return fmt.Errorf("can not remove store %d since the number of up stores would be %d while need %d", s.id, up-1, w.MaxCopy)
	}
	s.state, s.emptyAt = state.StoreOffline, w.t
	return nil
}

func (w *Model) restoreStore(id uint64) error {
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	s := w.store(id)
	switch {
	case s == nil:
		return fmt.Errorf("store %d not found", id)
	case s.state == state.StoreTombstone:
		return fmt.Errorf("store %d is a tombstone", id)
	case s.state == state.StoreOffline && !w.removing(id):
		return errConflict // it was taken offline by a person
	}
	s.state = state.StoreUp
	if w.endsHalfWay() {
		return errHalfWay
	}
	w.forgetRemoval(id)
	return nil
}

// concludeRecord deletes a record of what is over in PD.
func (w *Model) concludeRecord(next step.ForgetRecord) error {
	if next.Record == state.RecordEviction {
		if r, known := w.recordOf(next.StoreID); known && r.Ended.IsZero() {
			return errConflict
		}
		w.forgetRecord(next.StoreID)
		return nil
	}
	if !w.serving() || !w.reached() {
		return errNoPD
	}
	if s := w.store(next.StoreID); s != nil && s.state == state.StoreOffline {
		return errConflict
	}
	w.forgetRemoval(next.StoreID)
	return nil
}

// removing reports whether there is a record that we took the store offline.
func (w *Model) removing(id uint64) bool {
	return slices.ContainsFunc(w.removals, func(r state.Removal) bool { return r.StoreID == id })
}

func (w *Model) forgetRemoval(id uint64) {
	w.removals = slices.DeleteFunc(w.removals, func(r state.Removal) bool { return r.StoreID == id })
}

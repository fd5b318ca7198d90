package forecast

import (
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/step"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

func moveLeader(w *world, s step.MoveLeader) {
	w.member(topology.PD, s.From).Database.Leader = false
	w.member(topology.PD, s.To).Database.Leader = true
	w.snap.PD.Leader = s.ToName
}

func removeMember(w *world, s step.RemoveMember) {
	m := w.member(topology.PD, s.Member)
	m.Database = state.Database{Presence: state.Absent}
}

func evictLeaders(w *world, s step.EvictLeaders) {
	m := w.member(topology.TiKV, s.Member)
	e := state.Eviction{StoreID: s.StoreID, Member: s.Member, Since: w.snap.At, Leaders: max(s.Leaders, 0), Foreign: m.Database.Evicting}
	w.forgetEviction(s.StoreID)
	w.snap.Evictions = append(w.snap.Evictions, e)
	m.Database.Evicting = true
}

// limitLeaderMoves is forecast once: to ask PD again changes nothing.
func limitLeaderMoves(w *world, _ step.LimitLeaderMoves) {
	w.policy.Limited = w.snap.At.AddDate(1, 0, 0)
}

// holdRegions is forecast once. PD ends the moves that it has begun, and then each region has its copies apart.
func holdRegions(w *world, _ step.HoldRegions) {
	w.policy.Held = w.snap.At.AddDate(1, 0, 0)
	at := &w.snap.PD.Isolation
	if apart := at.NotApart(w.snap.PD.LocationLabels, w.snap.PD.IsolationLevel); apart > 0 && apart <= at.Moving {
		at.Apart, at.Unsound, at.Moving = map[string]int{w.snap.PD.IsolationLevel: at.Regions}, nil, 0
	}
}

func (w *world) forgetEviction(id uint64) {
	w.snap.Evictions = slices.DeleteFunc(w.snap.Evictions, func(e state.Eviction) bool { return e.StoreID == id })
}

func adoptEviction(w *world, s step.AdoptEviction) {
	m := w.member(topology.TiKV, s.Member)
	m.Pod.EvictionBegun = time.Time{}
	if !s.Ended {
		w.snap.Evictions = append(w.snap.Evictions, state.Eviction{StoreID: s.StoreID, Member: s.Member, Since: s.Since, Leaders: s.Leaders})
	}
}

func allowLeaders(w *world, s step.AllowLeaders) {
	for i := range w.snap.Evictions {
		e := &w.snap.Evictions[i]
		if e.StoreID != s.StoreID {
			continue
		}
		if m := w.store(s.StoreID); e.Ended.IsZero() && !e.Foreign {
			m.Database.Evicting = false
		}
		e.Ended = w.snap.At
	}
	if !s.Returning {
		w.forgetEviction(s.StoreID)
	}
}

func removeStore(w *world, s step.RemoveStore) {
	w.snap.Removals = append(w.snap.Removals, state.Removal{StoreID: s.StoreID, Member: s.Member, Since: w.snap.At})
	w.setStore(s.StoreID, state.StoreOffline)
}

func restoreStore(w *world, s step.RestoreStore) {
	w.forgetRemoval(s.StoreID)
	w.setStore(s.StoreID, state.StoreUp)
}

func (w *world) forgetRemoval(id uint64) {
	w.snap.Removals = slices.DeleteFunc(w.snap.Removals, func(r state.Removal) bool { return r.StoreID == id })
}

func (w *world) setStore(id uint64, s state.StoreState) {
	w.store(id).Database.State = s
	for i := range w.snap.PD.Placement.Stores {
		if o := &w.snap.PD.Placement.Stores[i]; o.ID == id {
			o.State = s
		}
	}
}

func forgetRecord(w *world, s step.ForgetRecord) {
	if s.Record == state.RecordEviction {
		w.forgetEviction(s.StoreID)
		return
	}
	w.forgetRemoval(s.StoreID)
}

func enableRules(w *world, _ step.EnableRules) {
	w.snap.RulesEnabled, w.snap.PD.RulesDisabled = w.snap.At, false
}

// moveFast is what PD and drainers do at once.
func (w *world) moveFast() {
	w.readBinlog()
	if !w.snap.PD.Serving() {
		return
	}
	if w.snap.PD.SchedulersUnknown {
		w.snap.PD.SchedulersUnknown, w.changed = false, true
	}
	for _, m := range w.members(topology.Store) {
		if m.Database.New {
			m.Database.New, w.changed = false, true // its first heartbeat, before which PD calls it Down
			w.setStore(m.Database.ID, state.StoreUp)
		}
		w.moveLeaders(m)
	}
}

// moveData is what PD and storage take long for.
func (w *world) moveData() {
	if w.snap.PD.Serving() {
		for _, m := range w.members(topology.Store) {
			w.moveRegions(m)
		}
	}
	for _, g := range w.snap.Groups {
		for i := range g.Members {
			w.growVolumes(&g.Members[i])
		}
	}
}

// moveLeaders moves leaders off a store, or back.
func (w *world) moveLeaders(m *state.Member) {
	d := &m.Database
	switch {
	case !m.Up() || m.Kind.Optional():
	case d.Evicting && w.snap.At.Sub(w.evicted(d.ID)) <= turnTime:
		w.changed = true
	case d.Evicting && d.Leaders != 0 && w.takers(m) > 0:
		d.Leaders, w.changed = 0, true
	case !d.Evicting && d.State == state.StoreUp && d.Leaders != w.leaders[d.ID]:
		d.Leaders, w.changed = w.leaders[d.ID], true
	}
}

// evicted returns when an eviction of ours began, zero where there is none.
func (w *world) evicted(id uint64) time.Time {
	e, _ := w.snap.Eviction(id)
	return e.Since
}

// takers counts the stores that leaders can move to.
func (w *world) takers(m *state.Member) int {
	n := w.elsewhere.up
	for _, o := range w.snap.Groups[m.Kind].Members {
		if o.Ordinal != m.Ordinal && o.Database.State == state.StoreUp && !o.Database.Evicting {
			n++
		}
	}
	return n
}

// moveRegions moves the regions off a store that is offline, if there are enough others for the copies.
func (w *world) moveRegions(m *state.Member) {
	d, pd := &m.Database, w.snap.PD
	if d.State != state.StoreOffline || !m.Kind.Optional() && pd.UpStores < pd.MaxReplicas {
		return
	}
	d.Regions, d.Leaders = 0, 0
	d.Healthy, w.changed = false, true
	w.setStore(d.ID, state.StoreTombstone)
}

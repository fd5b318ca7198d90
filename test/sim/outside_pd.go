package sim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// What PD knows and does, for a tier that asks its members over HTTP. Who may be asked, and the leader, are for that
// tier to find out: nothing here depends on whether an engine reaches PD.

// PDMember is a member of PD.
type PDMember struct {
	ID      uint64
	Ordinal int    // -1 for one in another Kubernetes cluster
	Name    string // "" while PD does not know it
	Started bool   // it has been there
	Alive   bool   // it takes part
	Pinged  bool   // PD's health check reaches it
	Release string // of the process that was there last, "" if there was none
	// Committed is how far the member knows PD's log as committed.
	Committed uint64
}

// PDMembers returns the members that PD lists, or that are to found PD where there is none.
func (w *Model) PDMembers() []PDMember {
	var all []PDMember
	for _, m := range w.listed() {
		out := PDMember{ID: cmp.Or(m.id, uint64(m.ordinal+1)), Ordinal: m.ordinal, Started: m.started, Alive: w.alive(m), Pinged: w.pinged(m), Committed: m.committed}
		if m.started {
			out.Release = releaseOf(cmp.Or(m.template, w.Intent.Template[pd]))
		}
		switch {
		case m.ordinal < 0:
			out.Name = fmt.Sprintf("elsewhere-%d", m.id)
		case m.named:
			out.Name = w.names[pd][m.ordinal]
		}
		all = append(all, out)
	}
	return all
}

// PDClusterID returns the id of the cluster, 0 before PD has one.
func (w *Model) PDClusterID() uint64 { return w.pd.id }

// PDSilent reports whether no member of PD answers us, whatever PD does.
func (w *Model) PDSilent() bool { return w.t < w.pd.silentUntil }

// PDLeader returns the id of the member that leads, 0 while there is none.
func (w *Model) PDLeader() uint64 {
	if !w.serving() {
		return 0
	}
	return w.pd.leader
}

// MovePDLeader makes the member of a name PD's leader, false where none of that name takes part.
func (w *Model) MovePDLeader(name string) bool {
	for _, m := range w.PDMembers() {
		if m.Name != name || !m.Alive {
			continue
		}
		if m.ID != w.pd.leader {
			w.leadBy(w.pd.member(m.ID))
		}
		return true
	}
	return false
}

// RemovePDMember removes a member from PD. The error has the text of etcd.
func (w *Model) RemovePDMember(id uint64) error {
	if w.pd.member(id) == nil {
		return errors.New("etcdserver: member not found")
	}
	return w.removesMember(id, func() error { return w.dropMember(id) })
}

// Store is a store as PD has it.
type Store struct {
	ID        uint64
	Component topology.Kind
	Ordinal   int
	// Elsewhere: it is none of this cluster's members. Unlisted: PD lists it under an address that is the address of no
	// pod.
	Elsewhere, Unlisted bool
	State               state.StoreState // Up, Offline or Tombstone
	Shown               state.StoreState // also Disconnected and Down
	Leaders             int
	Regions             int
	// Capacity and Available are 0 where the model does not say how large the disk is.
	Capacity, Available topology.Size
	// Heartbeat is the last heartbeat by the clock of PD's leader, zero for none. Started is when the process that has
	// registered began, by the clock of its own host.
	Heartbeat, Started time.Time
	Labels             map[string]string
	Release            string // of the process that has registered
}

// Stores returns the stores in PD, in the order of their ids, false while PD's leader has not loaded them.
func (w *Model) Stores() ([]Store, bool) {
	all := []Store{}
	for _, s := range w.stores {
		all = append(all, w.outsideStore(s))
	}
	return all, w.t >= w.pd.storeless
}

func (w *Model) outsideStore(s *store) Store {
	out := Store{
		ID: s.id, Component: kinds[s.k], Ordinal: s.ordinal, Elsewhere: s.elsewhere(), Unlisted: w.isUnlisted(s), State: s.state, Shown: w.shownState(s),
		Leaders: s.leaders * crowd, Regions: s.regions * crowd, Labels: labelsOf(w.zone(s.ordinal), w.tier(s.ordinal)),
	}
	out.Capacity, out.Available = w.room(s)
	out.Release = releaseOf(cmp.Or(s.template, w.Intent.Template[s.k]))
	if s.k.learns() {
		out.Labels["engine"] = "tiflash"
	}
	if s.dated != noHeartbeat {
		out.Heartbeat = w.at(s.dated)
	}
	if s.elsewhere() {
		out.Started = w.at(s.announced)
		return out
	}
	began := s.announced - 1
	if p := w.pods[s.k][s.ordinal]; p != nil && s.announced >= p.started {
		began = p.started
	}
	out.Started = w.at(began + w.clocks[s.k][s.ordinal])
	return out
}

// OwnCounts returns how many leaders and regions the store of a member has by its own count.
func (w *Model) OwnCounts(component topology.Kind, ordinal int) (leaders, regions int) {
	s := w.storeOf(kindOf(component), ordinal)
	if s == nil {
		return 0, 0
	}
	return s.leaders * crowd, s.regions * crowd
}

// TakeStoreOffline has PD take a store offline that is Up. The error has PD's text.
func (w *Model) TakeStoreOffline(id uint64) error {
	if s := w.store(id); s != nil && s.state == state.StoreUp {
		return w.removesStore(s, func() error { return w.takeOffline(s) })
	}
	return nil
}

// BringStoreUp has PD keep a store that is Offline.
func (w *Model) BringStoreUp(id uint64) {
	if s := w.store(id); s != nil && s.state == state.StoreOffline {
		s.state = state.StoreUp
	}
}

// SchedulersLoaded reports whether PD's leader has loaded its schedulers.
func (w *Model) SchedulersLoaded() bool { return w.t >= w.pd.loadedAt }

// Evicting returns the stores of PD's evict-leader scheduler, ascending.
func (w *Model) Evicting() []uint64 { return slices.Sorted(maps.Keys(w.evicts)) }

// EvictLeaders adds a store to PD's evict-leader scheduler.
func (w *Model) EvictLeaders(id uint64) {
	if w.evicts[id] == nil {
		w.evicts[id] = &scheduler{ours: true}
	}
}

// AllowLeaders takes a store out of PD's evict-leader scheduler.
func (w *Model) AllowLeaders(id uint64) { delete(w.evicts, id) }

// Stalled returns what a person has set in PD that keeps it from moving leaders or regions.
func (w *Model) Stalled() state.Scheduling { return w.stalled() }

// MoveLeadersAgain has the evict-leader scheduler move leaders that was set to move none at a time.
func (w *Model) MoveLeadersAgain() {
	if w.pd.stall.NoBatch {
		w.pd.stall = stall{}
	}
}

// LimitMoves limits how many leaders PD moves at a time, for some seconds.
func (w *Model) LimitMoves(limit int, seconds int64) { w.pd.limit = leaderLimit{limit, w.t + seconds} }

// PlacementRules returns the rules by which PD places replicas, and those of tables for TiFlash; false while rules are
// disabled.
func (w *Model) PlacementRules() (own, learners []state.PlacementRule, enabled bool) {
	return w.rules.asPD(w.MaxCopy), w.learnerRules(), !w.flash.off
}

// EnablePlacementRules enables or disables PD's placement rules.
func (w *Model) EnablePlacementRules(on bool) { w.flash.off = !on }

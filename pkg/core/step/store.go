package step

import (
	"fmt"
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/remedy"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// LimitLeaderMoves has PD move at most so many region leaders at a time, for LimitLasts. Then PD goes back to its own
// limit by itself. So a run that is killed leaves nothing behind, and what a person has set stays.
type LimitLeaderMoves struct {
	Limit int
	// Again: this process has asked for it before.
	Again bool
}

// LimitLasts is how long PD keeps a limit.
const LimitLasts = 2 * time.Minute

func (LimitLeaderMoves) Action() string { return "LimitLeaderMoves" }

func (s LimitLeaderMoves) Target() (topology.Kind, string) { return topology.TiKV, "" }

func (LimitLeaderMoves) Disruptive() bool { return false }

func (s LimitLeaderMoves) Quiet() bool { return s.Again }

func (s LimitLeaderMoves) String() string {
	return "have PD move at most " + remedy.Count(s.Limit, "region leader", "region leaders") + " at a time"
}

// HoldRegions has PD move no copies of regions for balance, for LimitLasts. While PD moves a copy, a region may have two
// copies in one place, and PD's counts do not tell why. PD still makes copies that are missing, and moves copies that a
// rule does not allow where they are.
type HoldRegions struct {
	// Again: this process has asked for it before.
	Again bool
}

func (HoldRegions) Action() string { return "HoldRegions" }

func (s HoldRegions) Target() (topology.Kind, string) { return topology.TiKV, "" }

func (HoldRegions) Disruptive() bool { return false }

func (s HoldRegions) Quiet() bool { return s.Again }

func (s HoldRegions) String() string { return "have PD move no regions for balance" }

// EvictLeaders records and makes an evict-leader scheduler for a store.
type EvictLeaders struct {
	Member  string
	StoreID uint64
	// PodUID is the store's pod when this was decided; "" for none. Another pod may need no
	// eviction. A daemon whose copies of objects are minutes old would evict the leaders of a store
	// that is restarted already.
	PodUID  string
	Leaders int // how many there are to move
}

func (EvictLeaders) Action() string { return "EvictLeaders" }

func (s EvictLeaders) Target() (topology.Kind, string) { return topology.TiKV, s.Member }

func (EvictLeaders) Disruptive() bool { return false }

func (EvictLeaders) Quiet() bool { return false }

func (s EvictLeaders) String() string { return "evict region leaders from " + s.Member }

// AdoptEviction records an evict-leader scheduler that tidb-operator made as ours, and removes
// tidb-operator's mark from the pod.
type AdoptEviction struct {
	Member  string
	StoreID uint64
	PodUID  string
	Since   time.Time // when tidb-operator began
	Leaders int       // how many there are to move
	// Ended: PD has no such scheduler, or it is ours, and only the mark is left.
	Ended bool
}

func (AdoptEviction) Action() string { return "AdoptEviction" }

func (s AdoptEviction) Target() (topology.Kind, string) { return topology.TiKV, s.Member }

func (AdoptEviction) Disruptive() bool { return false }

func (AdoptEviction) Quiet() bool { return false }

func (s AdoptEviction) String() string {
	if s.Ended {
		return "take tidb-operator's mark of an eviction off pod " + s.Member
	}
	return "take over tidb-operator's eviction of region leaders from " + s.Member
}

// AllowLeaders removes the evict-leader scheduler of a store that we made, and
// then its record.
type AllowLeaders struct {
	Member  string
	StoreID uint64
	// Returning: the record stays, with the time at which the eviction ended, until the store has
	// its leaders again.
	Returning bool
}

func (AllowLeaders) Action() string { return "AllowLeaders" }

func (s AllowLeaders) Target() (topology.Kind, string) { return topology.TiKV, s.Member }

func (AllowLeaders) Disruptive() bool { return false }

func (AllowLeaders) Quiet() bool { return false }

func (s AllowLeaders) String() string { return "allow region leaders on " + s.Member }

// RemoveStore records that we take a store offline, and does so. PD moves its regions away and then calls it a
// tombstone.
type RemoveStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	// Down: PD did not call the store Up when this was decided, as in RemoveMember.
	Down bool
	// NotUp are the stores of TiKV that PD did not call Up then. Regions may have copies on this store and on
	// another one that has gone down since, and would lose their quorum.
	NotUp []uint64
	// Removals are the stores whose removal was on record then. No more stores may leave at the same time than the user
	// allows, and another run may have begun a removal since.
	Removals []uint64
}

func (RemoveStore) Action() string { return "RemoveStore" }

func (s RemoveStore) Target() (topology.Kind, string) { return s.Component, s.Member }

func (RemoveStore) Disruptive() bool { return true }

func (RemoveStore) Quiet() bool { return false }

func (s RemoveStore) String() string {
	return fmt.Sprintf("take store %d of %s offline", s.StoreID, s.Member)
}

// RestoreStore cancels the removal of a store that we took offline and that is wanted again. Then
// it deletes the record of the removal.
type RestoreStore struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
}

func (RestoreStore) Action() string { return "RestoreStore" }

func (s RestoreStore) Target() (topology.Kind, string) { return s.Component, s.Member }

func (RestoreStore) Disruptive() bool { return false }

func (RestoreStore) Quiet() bool { return false }

func (s RestoreStore) String() string {
	return fmt.Sprintf("bring store %d of %s back up", s.StoreID, s.Member)
}

// ForgetRecord deletes a record in the ledger of something that is over in PD.
type ForgetRecord struct {
	Component topology.Kind
	Member    string
	StoreID   uint64
	Record    state.Record
}

func (ForgetRecord) Action() string { return "ForgetRecord" }

func (s ForgetRecord) Target() (topology.Kind, string) { return s.Component, s.Member }

func (ForgetRecord) Disruptive() bool { return false }

func (ForgetRecord) Quiet() bool { return false }

func (s ForgetRecord) String() string {
	if s.Record == state.RecordEviction {
		return "conclude the eviction of region leaders from " + s.Member
	}
	return fmt.Sprintf("conclude the removal of store %d of %s", s.StoreID, s.Member)
}

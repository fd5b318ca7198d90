package pd

import "time"

// Member is one PD member.
type Member struct {
	// Name is empty for a member that was added and has not started. The first members of a cluster have their names
	// from the beginning.
	Name     string
	ID       uint64
	PeerURLs []string
	// ClientURLs are empty as long as the member has never started (seen on v8.1; etcd asks for the same).
	ClientURLs     []string
	LeaderPriority int
	// Version is the version of the member's own binary, such as v8.1.0. Empty while it has never served.
	Version string
}

// Members is the membership as the leader sees it.
type Members struct {
	ClusterID uint64
	Members   []Member
	// Leader is nil while PD has none.
	Leader *Member
	// EtcdLeader is nil while the embedded etcd has no leader; it normally is the PD leader.
	EtcdLeader *Member
}

// ByName returns the member of that name, or nil.
func (m *Members) ByName(name string) *Member {
	for i := range m.Members {
		if m.Members[i].Name == name {
			return &m.Members[i]
		}
	}
	return nil
}

// MemberHealth reports whether a member answers the leader's ping.
type MemberHealth struct {
	Name       string
	ID         uint64
	ClientURLs []string
	Healthy    bool
}

// StoreState is the state that PD keeps for a store.
type StoreState int

// The states of a store, with PD's numbers.
const (
	StoreUp        StoreState = 0
	StoreOffline   StoreState = 1
	StoreTombstone StoreState = 2
)

// String returns PD's name of the state.
func (s StoreState) String() string {
	switch s {
	case StoreUp:
		return "Up"
	case StoreOffline:
		return "Offline"
	case StoreTombstone:
		return "Tombstone"
	}
	return "Unknown"
}

// The state names that PD derives from missing heartbeats; the State of such a store is still StoreUp.
const (
	StateNameDisconnected = "Disconnected"
	StateNameDown         = "Down"
)

// Store is one TiKV or TiFlash store.
type Store struct {
	ID      uint64
	Address string
	// StatusAddress is where the store serves metrics and status.
	StatusAddress string
	State         StoreState
	// StateName is State.String(), or Disconnected or Down for an Up store without heartbeats.
	StateName string
	Version   string
	Labels    map[string]string

	LeaderCount int
	RegionCount int
	// RegionWeight says how many regions the store is to have compared with others; 1 by default, 0 where PD does not say
	// it.
	RegionWeight float64
	// NoRegions is true if somebody has set that weight to 0. PD puts regions on all other stores then.
	NoRegions bool
	// Capacity is the size of the store's disk, or what the store's configuration lets the store use. Available is
	// what is free of it. Both are in bytes, as the store last reported. Both are 0 where PD does not know.
	Capacity, Available int64
	// Used is the size of the store's own data in bytes, 0 where PD does not know.
	Used int64
	// LastHeartbeat is zero when PD has got no heartbeat from the store since its leader changed. PD dates it by the
	// clock of the host of its leader, which may be wrong.
	LastHeartbeat time.Time
	// Answered is the time by that clock when PD listed the stores, cut to seconds. It is zero when PD does not say so,
	// and for a store that was asked for alone.
	Answered time.Time
	// StartTime is when the store's process started, as the store reported to PD.
	StartTime time.Time
}

// Healthy reports whether the store is Up and its heartbeats arrive.
func (s *Store) Healthy() bool { return s.State == StoreUp && s.StateName == "Up" }

// Columnar reports whether the store is one of TiFlash. Such a store has copies of tables, which do not vote, or is
// a compute node, which has none. Neither can replace a store of TiKV.
func (s *Store) Columnar() bool {
	return s.Labels["engine"] == "tiflash" || s.Labels["engine"] == "tiflash_compute"
}

// ReplicationConfig is the part of PD's replication settings that operations depend on.
type ReplicationConfig struct {
	MaxReplicas          int
	LocationLabels       []string
	IsolationLevel       string
	StrictlyMatchLabel   bool
	EnablePlacementRules bool
}

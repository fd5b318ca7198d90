package pd

import (
	"context"
	"crypto/tls"
	"net"
	"time"
)

// Client has the calls of PD that the plugin uses. Fake implements it for tests.
type Client interface {
	// Members lists the PD members, with leader and etcd leader as the answering leader sees them.
	Members(ctx context.Context) (*Members, error)
	// Health reports which members answer the leader's ping. One hung member costs three seconds.
	Health(ctx context.Context) ([]MemberHealth, error)
	// Leader asks all members at once and returns the one that confirms that it leads.
	Leader(ctx context.Context) (*Member, error)
	// Voters asks each member itself for its part in PD's quorum, also while there is no leader. It fails when no member
	// answers.
	Voters(ctx context.Context) ([]Voter, error)
	// TransferLeader returns when the member of that name confirms that it leads.
	TransferLeader(ctx context.Context, toName string) error
	// DeleteMember removes a member by id. It succeeds if the member does not exist any more, and fails with
	// ErrIsLeader for the leader.
	DeleteMember(ctx context.Context, id uint64) error

	// Stores lists stores in the given states; no state means all, including tombstones.
	Stores(ctx context.Context, states ...StoreState) ([]Store, error)
	// Store returns one store in any state, or ErrNotFound.
	Store(ctx context.Context, id uint64) (*Store, error)
	// DeleteStore takes a store offline: PD moves its regions away, then makes it a tombstone. It succeeds if the store
	// is one already.
	DeleteStore(ctx context.Context, id uint64) error
	// SetStoreState brings an Offline store back Up, or the reverse. PD allows no other change.
	SetStoreState(ctx context.Context, id uint64, s StoreState) error
	// SetStoreLabels sets the given labels and leaves the others as they are.
	SetStoreLabels(ctx context.Context, id uint64, labels map[string]string) error

	// Schedulers lists the running schedulers, or ErrSchedulersNotLoaded while PD does not know them yet.
	Schedulers(ctx context.Context) ([]string, error)
	// EvictLeaderStores lists the stores from which region leaders are being evicted, ascending.
	EvictLeaderStores(ctx context.Context) ([]uint64, error)
	// Scheduling returns how PD moves leaders and regions, and what keeps it from that.
	Scheduling(ctx context.Context) (*Scheduling, error)
	// PausedSchedulers lists the schedulers that are paused for a time.
	PausedSchedulers(ctx context.Context) ([]string, error)
	// ScheduleSettings returns the running schedulers and numbers of the schedule configuration, such as
	// "region-schedule-limit".
	ScheduleSettings(ctx context.Context, keys ...string) (*ScheduleSettings, error)
	// AddScheduler has PD run a scheduler that needs no arguments. It succeeds if the scheduler runs already.
	AddScheduler(ctx context.Context, name string) error
	// SetScheduleNumbers changes the given numbers of the schedule configuration.
	SetScheduleNumbers(ctx context.Context, numbers map[string]float64) error
	// DeniedRanges lists the region labels that keep leaders in some ranges of keys where they are.
	DeniedRanges(ctx context.Context) ([]string, error)
	// SetEvictBatch has the evict-leader scheduler, which has the store already, move as many leaders at a time as PD
	// does by default.
	SetEvictBatch(ctx context.Context, storeID uint64) error
	// AddEvictLeader starts evicting region leaders from a store, and verifies that PD lists it.
	AddEvictLeader(ctx context.Context, storeID uint64) error
	// RemoveEvictLeader ends evicting region leaders from a store, and verifies that PD does not list it.
	RemoveEvictLeader(ctx context.Context, storeID uint64) error

	// ReplicationConfig returns the part of PD's replication settings that operations depend on.
	ReplicationConfig(ctx context.Context) (*ReplicationConfig, error)
	// PlacementRules lists the rules by which PD places copies of regions; PD refuses with 412 while they are disabled.
	PlacementRules(ctx context.Context) ([]RuleGroup, error)
	// MaxStoreDownTime returns after how long without a heartbeat PD calls a store Down.
	MaxStoreDownTime(ctx context.Context) (time.Duration, error)
	// LimitLeaderMoves sets how many leaders PD moves at a time. After a while PD takes what is configured again.
	LimitLeaderMoves(ctx context.Context, limit int, lasts time.Duration) error
	// HoldRegions has PD move no copies of regions for balance. After a while PD takes what is configured again.
	HoldRegions(ctx context.Context, lasts time.Duration) error
	// SetReplicationConfig changes the given keys ("max-replicas", "location-labels", …) in one write.
	SetReplicationConfig(ctx context.Context, patch map[string]any) error

	// Isolation returns where the copies of regions are, as PD's leader counted when it last went through all regions.
	// Apart is empty after a leader change until the new leader has begun to count.
	Isolation(ctx context.Context) (*Isolation, error)

	// BinlogNodes lists the Pumps and drainers that have registered in PD's etcd, in any state.
	BinlogNodes(ctx context.Context) ([]BinlogNode, error)

	// Service returns the members and the primary of a service of PD, such as tso. PD refuses where PD has no services,
	// and fails with ErrNotBootstrapped before a store has joined.
	Service(ctx context.Context, name string) (*Service, error)

	// LogBackups lists the tasks of log backup (point-in-time recovery) that are registered in PD's etcd.
	LogBackups(ctx context.Context) ([]LogBackup, error)

	// ServiceSafePoints lists what keeps PD from garbage collection, such as a backup.
	ServiceSafePoints(ctx context.Context) ([]ServiceSafePoint, error)
	// DeleteServiceSafePoint deletes one of them. It succeeds if there is none of that id.
	DeleteServiceSafePoint(ctx context.Context, id string) error

	// Lock returns which part of the database may take members away, nil for none.
	Lock(ctx context.Context) (*Lock, error)
	// TakeLock makes a Lock, which PD deletes after a while without a renewal. It returns an id for renewals. It fails with
	// a LockedError where another part has the Lock.
	TakeLock(ctx context.Context, l Lock, lasts time.Duration) (id string, err error)
	// RenewLock renews a Lock. It fails with ErrLockLost where PD has deleted the Lock.
	RenewLock(ctx context.Context, id, nonce string) error
	// ReleaseLock deletes a Lock that was made here. It succeeds if there is none any more.
	ReleaseLock(ctx context.Context, id string) error

	// ClusterID returns the id PD gave the cluster when it was first started.
	ClusterID(ctx context.Context) (uint64, error)
	// ClusterVersion returns the lowest version all stores have reached.
	ClusterVersion(ctx context.Context) (string, error)
	// ServerVersion returns the version of the leader's own binary.
	ServerVersion(ctx context.Context) (string, error)

	// Close drops the idle connections. A later call makes new ones.
	Close()
}

// Defaults of Config.
const (
	// DefaultAttempt bounds one request to one member.
	DefaultAttempt = 5 * time.Second
	// DefaultBudget covers the 12 seconds (measured) in which PD elects a leader after a hard kill, with a margin.
	DefaultBudget = 45 * time.Second
)

// DialFunc opens a connection to a member; http.Transport.DialContext has this shape.
type DialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// Config says how to reach one cluster's PD.
type Config struct {
	// URLs are the members to start from, scheme included. Others are found in their answers.
	URLs []string
	// Dial opens connections. It connects to members of this cluster only: URLs come from PD's answers. See dial.Members.
	Dial DialFunc
	// TLS holds the CA and the client certificate of a cluster with TLS between its components.
	TLS *tls.Config
	// Attempt bounds one request to one member. Zero means DefaultAttempt.
	Attempt time.Duration
	// Budget bounds one call of a Client method, all repeats included. Zero means DefaultBudget.
	Budget time.Duration
	// Caller shows in PD's audit log. Empty means "kubectl-tidb".
	Caller string
	// OnCall is called when a call of a Client method has ended, with the method's name; nil for none. It may be called
	// from several goroutines at once, and may not block.
	OnCall func(call string, took time.Duration, err error)
}

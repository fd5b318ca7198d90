package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Policy says what one run may do by itself, and how. It is the user's choice for the run and no
// part of the wanted cluster, so it is not in the TidbCluster.
type Policy struct {
	Failover Failing
	Eviction Eviction
	// Concurrency is how many members of a component a rollout restarts at the same time.
	Concurrency Concurrency
	// Later are the components whose last step failed in this run, the one that failed longest ago
	// first. Steps of these components are tried after all others, and hold nothing else back.
	Later []topology.Kind
	// Waits are the gates of this process's last turn.
	Waits Waits
	// Limited is when this process last had PD limit how many leaders move; zero for never.
	Limited time.Time
	// Held is when this process last had PD move no regions for balance; zero for never.
	Held time.Time
	// DDLAsked is the update revision of TiDB for which this process has asked for a pause; "" for none. TiDB may have
	// refused, and is not asked again in each turn.
	DDLAsked string
}

// Failing says which members a run may give up and replace.
type Failing struct {
	// Members: a run may give up members that are down for longer than the period of their component. Otherwise a run
	// only continues failovers that are recorded.
	Members bool
	// Only names the components whose members may be given up; empty for all components.
	Only []topology.Kind
	// Now: the period need not be over.
	Now bool
	// Discard names members whose data is given up for good.
	Discard []string
}

// Eviction says how patient a run is with what is to leave a member. That is region leaders of a
// store, and changefeeds of TiCDC. The zero value leaves that to the cluster's spec.
type Eviction struct {
	// Timeout bounds the wait, in place of the default; zero keeps the default.
	Timeout time.Duration
	// OnTimeout is what to do when that time is over. Without such a time it applies when there has
	// been no progress for long.
	OnTimeout Lapse
	// MaxMoves is how many leaders PD may move at a time while leaders leave stores or come back. Zero keeps PD's own
	// limit.
	MaxMoves int
	// StopFeeds: the last capture of TiCDC may be removed although changefeeds run.
	StopFeeds bool
}

// Lapse says what happens when the time for a goal is over.
type Lapse int

const (
	// Default goes on without the goal after a time that somebody has set. Without one it waits for a
	// person, since nobody has said that the goal may be given up.
	Default Lapse = iota
	// Proceed goes on without the goal.
	Proceed
	// Fail waits for a person.
	Fail
	// Persist goes on waiting: there is no time limit.
	Persist
)

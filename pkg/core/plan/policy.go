package plan

import (
	"time"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Policy is what one run may do by itself, and how it goes about it. It is the
// user's choice for the run and no part of what the cluster is to become, so it
// is not in the TidbCluster.
type Policy struct {
	Failover Failing
	Eviction Eviction
	// Later are the components whose last step failed in this run, the one that failed
	// longest ago first. Their steps are tried after those of others, and hold nothing else
	// back.
	Later []topology.Kind
	// Waits are what this process waited for in its last turn.
	Waits Waits
}

// Failing says which members a run may give up and replace.
type Failing struct {
	// Members: those that are down for longer than their component's period. Without it a
	// run only continues what is recorded.
	Members bool
	// Only limits that to some components; all when empty.
	Only []topology.Kind
	// Now: without waiting for the period.
	Now bool
	// Discard names members whose data is given up for good.
	Discard []string
}

// Eviction says how patient a run is with region leaders that are to leave a
// store. The zero value leaves that to the cluster's spec.
type Eviction struct {
	// Timeout bounds the wait, in place of the default; zero keeps the default.
	Timeout time.Duration
	// OnTimeout is what to do when that time is over.
	OnTimeout Lapse
}

// Lapse is what happens to a goal whose time is over.
type Lapse int

const (
	// Proceed goes on without the goal.
	Proceed Lapse = iota
	// Fail asks a person.
	Fail
	// Persist goes on waiting: there is no time limit.
	Persist
)

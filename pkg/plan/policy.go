package plan

import "github.com/kubectl-tidb/kubectl-tidb/pkg/topology"

// Policy is what one run may do by itself. It is the user's choice for the run
// and no part of what the cluster is to become, so it is not in the TidbCluster.
type Policy struct {
	Failover Failing
}

// Failing says which members a run may give up and replace.
type Failing struct {
	// Members: those that are down for longer than their component's period.
	// Without it a run only goes on with what records say was begun.
	Members bool
	// Only limits that to some components; all when empty.
	Only []topology.Kind
	// Now: without waiting for the period.
	Now bool
	// Discard names members whose data is given up for good.
	Discard []string
}

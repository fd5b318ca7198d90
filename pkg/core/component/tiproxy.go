package component

import (
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/plan"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TiProxy's members keep no data. They find the TiDB servers in PD, and pass connections of clients
// on to them.
//
// A member whose pod is deleted drains its connections by itself, for as long as its configuration
// says. There is no failover: clients connect to the Service, which has the other members.
func TiProxy() plan.Profile {
	return plan.Profile{
		Kind:         topology.TiProxy,
		Needs:        []plan.Need{pdServes, pdUpgraded},
		BeforeRemove: []plan.Hook{plan.LeftoverMarked},
	}
}

package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// description is how one component is rendered. A component is added by a row.
type description struct {
	kind topology.Kind
	// objects returns the data from which the component's objects are made. Existing objects are
	// only used to see how PD's pods bootstrap.
	objects func(c topology.Cluster, g topology.Group, have state.Existing) (component, error)
	status  statusPart
}

// descriptions has the descriptions of all components, in the order in which their pods are replaced.
var descriptions = []description{
	{topology.PD, describePD, pdStatus},
	{topology.TSO, describeService, servicesStatus(topology.TSO)},
	{topology.Scheduling, describeService, servicesStatus(topology.Scheduling)},
	{topology.TiProxy, describeTiProxy, tiproxyStatus},
	{topology.TiFlash, describeTiFlash, tiflashStatus},
	{topology.TiKV, describeTiKV, tikvStatus},
	{topology.Pump, describePump, pumpStatus},
	{topology.TiDB, describeTiDB, tidbStatus},
	{topology.TiCDC, describeTiCDC, ticdcStatus},
}

// descriptionOf returns the row of a component. Each group of a cluster has one.
func descriptionOf(k topology.Kind) description {
	for _, d := range descriptions {
		if d.kind == k {
			return d
		}
	}
	panic("render: no description of component " + string(k))
}

// statusPart is the part of one component in the status of a TidbCluster, in tidb-operator's
// fields.
type statusPart struct {
	// begin makes the part of a component that has none yet; nil where each status has the part.
	begin func(*v1alpha1.TidbClusterStatus)
	// members writes the state of each member, and the image. What is not known this time stays as
	// it was.
	members func(projection, *v1alpha1.TidbClusterStatus)
	// clear removes the members of a suspended component. Members that a failover has replaced
	// stay.
	clear func(*v1alpha1.TidbClusterStatus)
	// counts writes numbers that change in each observation; nil where there are none. The status
	// is not written because of them alone.
	counts func(projection, *v1alpha1.TidbClusterStatus)
	// health returns for each member in the status whether it is healthy.
	health func(*v1alpha1.TidbClusterStatus) []bool
	// unhealthy and message are the reason and message of the condition Ready while one is not.
	unhealthy, message string
}

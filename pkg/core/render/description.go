package render

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// description is how one component is rendered. A component is added by a row.
type description struct {
	kind topology.Kind
	// objects makes what the component's objects are assembled from. What exists only
	// says how PD's pods bootstrap.
	objects func(c topology.Cluster, g topology.Group, have state.Existing) (component, error)
	status  statusPart
}

var descriptions = []description{
	{topology.PD, describePD, pdStatus},
	{topology.TiKV, describeTiKV, tikvStatus},
	{topology.TiDB, describeTiDB, tidbStatus},
}

// descriptionOf finds the row of a component. A cluster has no group of a component
// that has none.
func descriptionOf(k topology.Kind) description {
	for _, d := range descriptions {
		if d.kind == k {
			return d
		}
	}
	panic("render: no description of component " + string(k))
}

// statusPart is how one component stands in the status of a TidbCluster, in
// tidb-operator's fields.
type statusPart struct {
	// members writes what has become of each member, and the image. What is not known
	// this time stays as it was.
	members func(projection, *v1alpha1.TidbClusterStatus)
	// clear removes the members of a component that is suspended: what was there is
	// there no more. Whom a failover has replaced stays.
	clear func(*v1alpha1.TidbClusterStatus)
	// counts writes numbers that change at each look; nil where there are none. They
	// are no reason to write a status, and are written with what is one.
	counts func(projection, *v1alpha1.TidbClusterStatus)
	// health reports of each member that is shown whether it is healthy.
	health func(*v1alpha1.TidbClusterStatus) []bool
	// unhealthy and message are the reason of the condition Ready while one is not.
	unhealthy, message string
}

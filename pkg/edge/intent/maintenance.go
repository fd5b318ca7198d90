package intent

import (
	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// aboutMaintenance is what a change of a mark is about: two commands may mark a cluster for two nodes.
var aboutMaintenance = []string{"metadata.annotations." + topology.AnnotationMaintenance}

// BeginMaintenance marks a cluster with members on a node under maintenance.
func (c *Client) BeginMaintenance(tc *v1alpha1.TidbCluster, m topology.Maintenance) Change {
	return c.edit("mark", tc, aboutMaintenance, func(want *v1alpha1.TidbCluster) { topology.BeginMaintenance(want, m) })
}

// EndMaintenance removes the mark.
func (c *Client) EndMaintenance(tc *v1alpha1.TidbCluster, node string) Change {
	return c.edit("unmark", tc, aboutMaintenance, func(want *v1alpha1.TidbCluster) { topology.EndMaintenance(want, node) })
}

package state

import (
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// OfOtherCluster reports whether the labels of a claim have the id of another cluster than that of the
// PD that answers. That PD may have lost its data and started a new cluster, or it may not be the PD of
// this cluster. So it is no proof that a member has left when this PD does not list it: the data in the
// claim may be the last copy.
func (p PD) OfOtherCluster(labels map[string]string) bool {
	label := labels[topology.LabelClusterID]
	return label != "" && p.ClusterID != 0 && label != strconv.FormatUint(p.ClusterID, 10)
}

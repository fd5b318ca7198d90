package state

import (
	"strconv"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// OfOtherCluster reports whether a claim's labels have the id of another cluster than the PD that
// answers. That PD may have lost its data and started a new cluster, or it may not be the PD of this
// cluster. That this PD does not list a member is no proof that the member has left. The data in the
// claim may be the last copy.
func (p PD) OfOtherCluster(labels map[string]string) bool {
	label := labels[topology.LabelClusterID]
	return label != "" && p.ClusterID != 0 && label != strconv.FormatUint(p.ClusterID, 10)
}

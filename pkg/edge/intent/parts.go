package intent

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Parts returns the TidbClusters that use the PD of a TidbCluster. It reports whether these are known to be all: a user may
// not have the right to read other namespaces.
//
// In another namespace any user may write that a TidbCluster uses this PD. Such a TidbCluster counts only if parts of its
// namespace are let in. Otherwise the parts are not known to be all, and PD has to be asked. A TidbCluster that cannot be
// decoded is an error in the same namespace only, because one of another namespace could stop all deletions.
func (c *Client) Parts(ctx context.Context, of topology.Cluster) (parts []topology.Cluster, complete bool, err error) {
	read, err := c.List(ctx, metav1.NamespaceAll, "")
	complete = err == nil
	if err != nil {
		own, err := c.List(ctx, of.Namespace, "")
		if err != nil {
			return nil, false, fmt.Errorf("see which TidbClusters use the PD of %s/%s: %w", of.Namespace, of.Name, err)
		}
		if len(read) == 0 {
			read = own
		}
	}
	for i := range read {
		switch p := topology.New(&read[i]); {
		case p.Joined.Name != of.Name || p.Joined.Namespace != of.Namespace:
		case topology.LetsParts(of.Source, p.Namespace):
			parts = append(parts, p)
		default:
			complete = false
		}
	}
	return parts, complete, nil
}

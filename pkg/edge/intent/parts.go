package intent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Parts are the TidbClusters that use the PD of a TidbCluster.
type Parts struct {
	Known []topology.Cluster
	// Claimed are those of other namespaces that name the PD without being let in. Any user may write such a TidbCluster,
	// so only PD knows whether it has members.
	Claimed []topology.Cluster
	// Unread: not all TidbClusters of other namespaces could be read. A user may not have the right.
	Unread bool
	// Across: parts may be in other Kubernetes clusters, whose TidbClusters cannot be read here.
	Across bool
}

// MayBeMore reports whether there may be parts that are not known. Only PD knows whether they have members.
func (p Parts) MayBeMore() bool { return p.Unread || len(p.Claimed) > 0 || p.Across }

// Parts returns the TidbClusters that use the PD of a TidbCluster. One that cannot be decoded is an error in the same
// namespace only, because one of another namespace could stop all deletions.
func (c *Client) Parts(ctx context.Context, of topology.Cluster) (parts Parts, err error) {
	read, err := c.listJoined(ctx, metav1.NamespaceAll)
	if err != nil {
		own, err := c.listJoined(ctx, of.Namespace)
		if err != nil {
			return parts, fmt.Errorf("see which TidbClusters use the PD of %s/%s: %w", of.Namespace, of.Name, err)
		}
		if parts.Unread = true; len(read) == 0 {
			read = own
		}
	}
	parts.Across = of.Founds() && of.MayHavePartsAcross()
	for i := range read {
		switch p := topology.New(&read[i]); {
		case !p.JoinsTo(of):
		case topology.AllowsParts(of.Source, p.Namespace):
			parts.Known = append(parts.Known, p)
		default:
			parts.Claimed = append(parts.Claimed, p)
		}
	}
	return parts, nil
}

// listJoined lists TidbClusters with what they join. A malformed configuration is no error here, because spec.cluster can be
// read nevertheless. With an error no cluster of the namespace could be deleted.
func (c *Client) listJoined(ctx context.Context, namespace string) ([]v1alpha1.TidbCluster, error) {
	all, failed, err := c.list(ctx, namespace, "")
	failed = slices.DeleteFunc(failed, func(err error) bool {
		_, malformed := errors.AsType[*MalformedError](err)
		return malformed
	})
	return all, errors.Join(append(failed, err)...)
}

// RecordLeft records that PD lists no member of a part any more.
func (c *Client) RecordLeft(ctx context.Context, tc *v1alpha1.TidbCluster) error {
	set := settings{annotations: map[string]any{topology.AnnotationLeft: "true"}}
	return c.patch(ctx, "record the end of the part in", tc, set, annotationsOf([]string{topology.AnnotationLeft}), Write{})
}

package render

import (
	"maps"
	"strconv"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// Annotation keys that the tool owns. None of them is a reason to write.
const (
	// annLastApplied holds the spec that was applied last, as it was before
	// the API server filled in defaults. "Is it different?" is asked of it and
	// never of the live spec.
	annLastApplied = "pingcap.com/last-applied-configuration"
	// annOwnerGeneration is the generation of the TidbCluster that the
	// StatefulSet was last written for.
	annOwnerGeneration = "tidb.pingcap.com/owner-generation"
	// annSyncTimestamp is a leftover of older operators.
	annSyncTimestamp = "tidb.pingcap.com/sync-timestamp"
)

// Values of the label app.kubernetes.io/used-by, which only Services carry.
const (
	usedByUser = "end-user"
	usedByPeer = "peer"
)

// componentDiscovery labels the ConfigMap that a PD pod without data reads.
const componentDiscovery = "discovery"

// meta is the metadata of an object that the cluster owns.
func meta(c topology.Cluster, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       c.Namespace,
		Labels:          labels,
		OwnerReferences: []metav1.OwnerReference{owner(c)},
	}
}

// owner returns the reference by which an object is deleted with the TidbCluster.
func owner(c topology.Cluster) metav1.OwnerReference {
	return *metav1.NewControllerRef(c.Source, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.TiDBClusterKind))
}

func generation(c topology.Cluster) string {
	return strconv.FormatInt(c.Source.Generation, 10)
}

// union returns all entries of the maps; for the same key the later map wins.
func union(all ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range all {
		maps.Copy(result, m)
	}
	return result
}

// covers reports whether live has every entry of wanted. Entries that others have added to live do
// not matter.
func covers(live, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := live[k]; !ok || got != v {
			return false
		}
	}
	return true
}

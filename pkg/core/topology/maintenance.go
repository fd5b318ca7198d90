package topology

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AnnotationMaintenance is on a Node under maintenance, with a record for the commands that begin and end
// the maintenance. It is also on the TidbClusters with members there, with a Maintenance by the name of each
// node. The reason is that a driver reads the TidbCluster anyway, and may have no right to read nodes.
const AnnotationMaintenance = "kubectl-tidb/maintenance"

// Maintenance is the maintenance of a node with members of a cluster. The node may go down at any time.
type Maintenance struct {
	Node  string    `json:"-"`
	By    string    `json:"by"` // a person
	Since time.Time `json:"since"`
	// Evicting are the ids of stores that get an evict-leader scheduler for it. The Node has them as well, and
	// may be deleted.
	Evicting []uint64 `json:"evicting,omitempty"`
}

// maintenances returns the nodes under maintenance, by their names. An annotation that cannot be read names
// none.
func maintenances(tc *v1alpha1.TidbCluster) []Maintenance {
	var nodes map[string]Maintenance
	if json.Unmarshal([]byte(tc.Annotations[AnnotationMaintenance]), &nodes) != nil {
		return nil
	}
	var all []Maintenance
	for name, m := range nodes {
		m.Node = name
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Maintenance) int { return strings.Compare(a.Node, b.Node) })
	return all
}

// EvictsForMaintenance reports whether a store has its evict-leader scheduler for a maintenance of its node.
func (c Cluster) EvictsForMaintenance(store uint64) bool {
	return slices.ContainsFunc(c.Maintained, func(m Maintenance) bool { return slices.Contains(m.Evicting, store) })
}

// BeginMaintenance marks a TidbCluster with members on a node under maintenance.
func BeginMaintenance(tc *v1alpha1.TidbCluster, m Maintenance) {
	setMaintenances(tc, append(withoutNode(tc, m.Node), m))
}

// EndMaintenance removes the mark.
func EndMaintenance(tc *v1alpha1.TidbCluster, node string) {
	setMaintenances(tc, withoutNode(tc, node))
}

func withoutNode(tc *v1alpha1.TidbCluster, node string) []Maintenance {
	return slices.DeleteFunc(maintenances(tc), func(m Maintenance) bool { return m.Node == node })
}

func setMaintenances(tc *v1alpha1.TidbCluster, all []Maintenance) {
	if len(all) == 0 {
		delete(tc.Annotations, AnnotationMaintenance)
		return
	}
	nodes := map[string]Maintenance{}
	for _, m := range all {
		m.Since = m.Since.UTC().Truncate(time.Second)
		nodes[m.Node] = m
	}
	metav1.SetMetaDataAnnotation(&tc.ObjectMeta, AnnotationMaintenance, string(encoded(nodes)))
}

package render

import (
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/state"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestPartFoundsNothing: members of PD of a part join the database of another part, also where nothing is known of that
// database, and where an old ConfigMap has initial members.
func TestPartFoundsNothing(t *testing.T) {
	const of = "http://shop-pd-0.shop-pd-peer.prod.svc.a.example:2379"
	for joins, want := range map[string]string{
		"acrossK8s: true, cluster: {name: shop, namespace: prod, clusterDomain: a.example}": "http://shop-pd-peer.prod.svc.a.example:2379",
		"pdAddresses: [" + of + "]": of,
	} {
		tc := &v1alpha1.TidbCluster{}
		text := "{metadata: {name: more, namespace: prod}, spec: {version: v8.1.0, " + joins +
			", clusterDomain: b.example, pd: {replicas: 1, baseImage: pingcap/pd, requests: {storage: 1Gi}}}}"
		if err := yaml.Unmarshal([]byte(text), tc); err != nil {
			t.Fatal(err)
		}
		c := topology.New(tc)
		g, _ := c.Group(topology.PD)
		old := map[string]*corev1.ConfigMap{c.BootstrapMap(): {Data: map[string]string{keyInitial: "more-pd-0=http://more-pd-0:2380"}}}
		for name, s := range map[string]struct {
			have state.Existing
			snap state.Snapshot
			id   string
		}{
			"nothing is known":       {},
			"PD is not reached":      {snap: state.Snapshot{PD: state.PD{Problem: "no answer"}}},
			"PD is known":            {snap: state.Snapshot{PD: state.PD{ClusterID: 7, Members: 2}}, id: "7"},
			"there is an old object": {have: state.Existing{ConfigMaps: old}},
		} {
			data := bootstrapData(c, g, s.have, s.snap)
			if data[keyInitial] != "" || data[keyJoin] != want || data[keyClusterID] != s.id {
				t.Errorf("%s, %s: %v, want to join %s", joins, name, data, want)
			}
		}
	}
}

package cli

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPartWithoutPD: verbs about PD work on the part with PD, or say which TidbCluster that is, with the same command for
// it.
func TestPartWithoutPD(t *testing.T) {
	part := tidbcluster("more")
	spec := part["spec"].(map[string]any)
	delete(spec, "pd")
	spec["cluster"] = map[string]any{"name": "basic"}
	pod := map[string]any{"metadata": map[string]any{"namespace": "default", "name": "more-tikv-0", "labels": map[string]any{"app.kubernetes.io/instance": "more"}}}
	pods := noneOf("PodList", "v1")
	pods["items"] = []any{pod}
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"dashboard more":                    {1, "cluster default/more uses the PD of cluster default/basic"},
		"transfer-leader more pd-1":         {1, "cluster default/more uses the PD of cluster default/basic"},
		"scale more pd=5":                   {3, "cluster default/more has no PD, so nothing was changed; PD of this part is that of cluster default/basic: kubectl tidb scale basic pd=5 -n default"},
		"restart more pd":                   {3, "kubectl tidb restart basic pd -n default"},
		"config set more pd log.level=warn": {3, "kubectl tidb config set basic pd log.level=warn -n default"},
		"config get more pd":                {2, "kubectl tidb config get basic pd -n default"},
		"config diff more pd":               {2, "kubectl tidb config diff basic pd -n default"},
		"config get more tidb":              {2, `has no component and no member "tidb"`},
		"config diff more nothing":          {2, `has no component and no member "nothing"`},
		"logs more pd":                      {3, "kubectl tidb logs basic pd -n default"},
	} {
		server := serve(t, map[string]any{
			tidbclusters + "/basic":                         tidbcluster("basic"),
			tidbclusters + "/more":                          part,
			"/api/v1/namespaces/default/pods":               pods,
			"/apis/apps/v1/namespaces/default/statefulsets": noneOf("StatefulSetList", "apps/v1"),
		})
		r := server.call(t, append(strings.Fields(args), "-n", "default")...)
		said := strings.Join(strings.Fields(r.err), " ")
		if r.code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d, %s", args, r.code, r.err)
		}
		if other := strings.Contains(args, "tidb") || strings.Contains(args, "nothing"); other && strings.Contains(said, "PD of this part") {
			t.Errorf("%s: %s", args, r.err)
		}
	}
}

func noneOf(kind, version string) map[string]any {
	return map[string]any{"kind": kind, "apiVersion": version, "metadata": metav1.ListMeta{}, "items": []any{}}
}

// TestDeletePartsAcross: a database over several Kubernetes clusters has TidbClusters of the same namespace and the same
// name. None of them is deleted while PD cannot say what the others would lose.
func TestDeletePartsAcross(t *testing.T) {
	for name, c := range map[string]struct {
		spec, status map[string]any
		says         string // "": the deletion goes on
	}{
		"a part": {
			spec:   map[string]any{"acrossK8s": true, "clusterDomain": "us.example", "cluster": map[string]any{"namespace": "default", "name": "basic", "clusterDomain": "eu.example"}},
			status: map[string]any{"clusterID": "7"},
			says:   "not known whether PD of default/basic counts on its members",
		},
		"the first part": {map[string]any{"acrossK8s": true, "clusterDomain": "eu.example"}, map[string]any{"clusterID": "7"}, "not known whether parts in other Kubernetes clusters use its PD"},
		"parts seen before": {
			map[string]any{"clusterDomain": "eu.example"},
			map[string]any{"clusterID": "7", "tikv": map[string]any{"peerStores": map[string]any{"5": map[string]any{"id": "5"}}}},
			"not known whether parts in other Kubernetes clusters use its PD",
		},
		"it has joined a PD by its addresses": {
			map[string]any{"pdAddresses": []any{"http://pd.example:2379"}},
			map[string]any{"clusterID": "7"},
			"not known whether PD at http://pd.example:2379 counts on its members",
		},
		"it may have joined": {
			map[string]any{"pdAddresses": []any{"http://pd.example:2379"}},
			nil,
			"if no member has ever joined: kubectl delete tidbclusters basic -n default",
		},
		"a domain in one place": {map[string]any{"clusterDomain": "eu.example"}, map[string]any{"clusterID": "7"}, ""},
		"it has never started":  {map[string]any{"acrossK8s": true, "clusterDomain": "eu.example"}, nil, ""},
		"all in one place":      {nil, map[string]any{"clusterID": "7"}, ""},
	} {
		tc := tidbcluster("basic")
		maps.Copy(tc["spec"].(map[string]any), c.spec)
		tc["status"] = c.status
		server := serve(t, map[string]any{
			tidbclusters + "/basic":                                     tc,
			tidbclusters:                                                noneOf("TidbClusterList", "pingcap.com/v1alpha1"),
			"/apis/pingcap.com/v1alpha1/tidbclusters":                   noneOf("TidbClusterList", "pingcap.com/v1alpha1"),
			"/api/v1/namespaces/default/pods":                           noneOf("PodList", "v1"),
			"/api/v1/namespaces/default/persistentvolumeclaims":         noneOf("PersistentVolumeClaimList", "v1"),
			"/api/v1/namespaces/default/services":                       noneOf("ServiceList", "v1"),
			"/api/v1/namespaces/default/configmaps":                     noneOf("ConfigMapList", "v1"),
			"/apis/apps/v1/namespaces/default/statefulsets":             noneOf("StatefulSetList", "apps/v1"),
			"/apis/apps.pingcap.com/v1/namespaces/default/statefulsets": noneOf("StatefulSetList", "apps.pingcap.com/v1"),
			"/apis/storage.k8s.io/v1/storageclasses":                    noneOf("StorageClassList", "storage.k8s.io/v1"),
			"/apis/policy/v1/namespaces/default/poddisruptionbudgets":   noneOf("PodDisruptionBudgetList", "policy/v1"),
			"/apis/coordination.k8s.io/v1/namespaces/default/leases":    noneOf("LeaseList", "coordination.k8s.io/v1"),
			"/apis/pingcap.com/v1alpha1/namespaces/default/backups":     noneOf("BackupList", "pingcap.com/v1alpha1"),
			"/api/v1/nodes": noneOf("NodeList", "v1"),
			"/apis/apps/v1/namespaces/default/controllerrevisions": noneOf("ControllerRevisionList", "apps/v1"),
			"/api/v1/namespaces/default/secrets":                   noneOf("SecretList", "v1"),
			"/api/v1/namespaces/default/events":                    noneOf("EventList", "v1"),
			"/apis/apps/v1/namespaces/default/deployments":         noneOf("DeploymentList", "apps/v1"),
		})
		r := server.call(t, "delete", "basic", "-n", "default", "--yes")
		said := strings.Join(strings.Fields(r.err), " ")
		if refused := r.code == 3 && strings.Contains(said, "is not deleted"); refused != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d, want %q: %s", name, r.code, c.says, r.err)
		}
	}
}

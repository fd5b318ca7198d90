package cli

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestInit: the definition is installed, and one with another manager is left alone, since clusters
// use it.
func TestInit(t *testing.T) {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/tidbclusters.pingcap.com"
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "tidbclusters.pingcap.com"},
		"status":   map[string]any{"conditions": []map[string]any{{"type": "Established", "status": "True"}}},
	}
	const backups = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/backups.pingcap.com"
	ofBackups := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "backups.pingcap.com"},
		"status":   map[string]any{"conditions": []map[string]any{{"type": "Established", "status": "True"}}},
	}
	server := serve(t, map[string]any{path: definition, backups: ofBackups})
	if r := server.call(t, "init"); r.code != 0 || strings.Count(r.out, "is installed") != 2 {
		t.Errorf("%+v", r)
	}
	server = serve(t, map[string]any{
		"PATCH " + path:    apierrors.NewConflict(schema.GroupResource{}, "tidbclusters.pingcap.com", nil),
		"GET " + path:      definition,
		"PATCH " + backups: apierrors.NewConflict(schema.GroupResource{}, "backups.pingcap.com", nil),
		"GET " + backups:   ofBackups,
	})
	if r := server.call(t, "init"); r.code != 0 || strings.Count(r.out, "--force-conflicts") != 2 {
		t.Errorf("%+v", r)
	}
}

// TestDeleteGoesOn: the same command completes an interrupted deletion, although there is no
// TidbCluster any more.
func TestDeleteGoesOn(t *testing.T) {
	const core = "/api/v1/namespaces/default/"
	claims := map[string]any{"kind": "PersistentVolumeClaimList", "apiVersion": "v1", "items": []map[string]any{
		{"metadata": map[string]any{"namespace": "default", "name": "tikv-basic-tikv-0", "uid": "1"}},
	}}
	server := serve(t, map[string]any{
		tidbclusters:                    clusterList(),
		core + "pods":                   map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{}},
		core + "persistentvolumeclaims": claims,
		core + "persistentvolumeclaims/tikv-basic-tikv-0": map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"},
	})
	wantError(t, "data stays", server.call(t, "delete", "basic", "--yes"), 2, "there is no TidbCluster")
	r := server.call(t, "delete", "basic", "--yes", "--delete-pvcs")
	if r.code != 0 || !strings.Contains(r.out, "its data is deleted, with 1 claim") {
		t.Errorf("%+v", r)
	}
	deleted := 0
	for _, asked := range server.asked() {
		if asked == "DELETE "+core+"persistentvolumeclaims/tikv-basic-tikv-0" {
			deleted++
		}
	}
	if deleted != 1 {
		t.Errorf("claim deleted %d times: %v", deleted, server.asked())
	}
}

package cli

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nothingLeft answers for two clusters of which nothing is left when their TidbClusters are deleted.
func nothingLeft() map[string]any {
	none := func(kind, version string) map[string]any {
		return map[string]any{"kind": kind + "List", "apiVersion": version, "metadata": metav1.ListMeta{}, "items": []any{}}
	}
	success := map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"}
	return map[string]any{
		tidbclusters:                                        clusterList(tidbcluster("basic"), tidbcluster("second")),
		tidbclusters + "/basic":                             tidbcluster("basic"),
		tidbclusters + "/second":                            tidbcluster("second"),
		"DELETE " + tidbclusters + "/basic":                 success,
		"DELETE " + tidbclusters + "/second":                success,
		"/apis/apps/v1/namespaces/default/statefulsets":     none("StatefulSet", "apps/v1"),
		"/api/v1/namespaces/default/pods":                   none("Pod", "v1"),
		"/api/v1/namespaces/default/persistentvolumeclaims": none("PersistentVolumeClaim", "v1"),
	}
}

func (s *apiServer) deleted() string {
	var names []string
	for _, asked := range s.asked() {
		if name, ok := strings.CutPrefix(asked, "DELETE "+tidbclusters+"/"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// TestDeleteSeveral: several clusters are deleted at the same time, and none of them if one is
// missing.
func TestDeleteSeveral(t *testing.T) {
	for _, args := range []string{"delete basic second basic --yes", "delete --all -y", "delete -l a=b -y"} {
		server := serve(t, nothingLeft())
		r := server.call(t, strings.Fields(args)...)
		if r.code != 0 || r.out != "cluster default/basic is deleted\ncluster default/second is deleted\n" {
			t.Errorf("%s: %+v", args, r)
		}
		if got := server.deleted(); got != "basic second" && got != "second basic" {
			t.Errorf("%s: deleted %q", args, got)
		}
	}
	server := serve(t, nothingLeft())
	wantError(t, "one is missing", server.call(t, "delete", "basic", "third", "fourth", "-y"), 2, `no TidbCluster "fourth"`)
	if got := server.deleted(); got != "" {
		t.Errorf("one is missing: deleted %q", got)
	}
	if r := server.call(t, "delete", "third", "-y", "--ignore-not-found"); r.code != 0 || r.err != "" {
		t.Errorf("none is to be deleted: %+v", r)
	}
	if r := server.call(t, "delete", "basic", "--wait=false", "-y"); r.code != 0 || !strings.Contains(r.out, "is being deleted") || server.deleted() != "basic" {
		t.Errorf("without waiting: %+v", r)
	}
	empty := serve(t, map[string]any{tidbclusters: clusterList()})
	if r := empty.call(t, "delete", "--all", "-y"); r.code != 0 || !strings.Contains(r.err, "No TidbClusters found") {
		t.Errorf("there is none: %+v", r)
	}
}

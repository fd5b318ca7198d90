package cli

import (
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
	none := func(kind, version string) map[string]any {
		return map[string]any{"kind": kind, "apiVersion": version, "metadata": metav1.ListMeta{}, "items": []any{}}
	}
	pod := map[string]any{"metadata": map[string]any{"namespace": "default", "name": "more-tikv-0", "labels": map[string]any{"app.kubernetes.io/instance": "more"}}}
	pods := none("PodList", "v1")
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
			"/apis/apps/v1/namespaces/default/statefulsets": none("StatefulSetList", "apps/v1"),
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

package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
)

// TestDiscardCompletion: --discard offers the stores of the cluster, of TiKV and of TiFlash, and nothing else.
func TestDiscardCompletion(t *testing.T) {
	t.Setenv("KUBECACHEDIR", t.TempDir())
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	for _, cluster := range []string{"basic", "other"} {
		for _, k := range topology.Kinds() {
			pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: cluster + "-" + string(k) + "-0", Labels: map[string]string{
				topology.LabelInstance: cluster, topology.LabelComponent: string(k),
			}}})
		}
	}
	resources := []metav1.APIResource{{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}}
	server := serve(t, discovery(map[string]any{
		tidbclusters:                      clusterList(tidbcluster("basic"), tidbcluster("other")),
		"/api/v1":                         metav1.APIResourceList{GroupVersion: "v1", APIResources: resources},
		"/api/v1/namespaces/default/pods": pods,
	}))
	r := call(t.Context(), t, "__complete", "failover", "--server", server.URL, "basic", "run", "--discard", "")
	if got := strings.Join(strings.Fields(r.out), " "); r.code != 0 || got != "basic-tiflash-0 basic-tikv-0 :4" {
		t.Errorf("%q, %q", got, r.err)
	}
}

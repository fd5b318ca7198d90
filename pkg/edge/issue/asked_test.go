package issue_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/issue"
)

// TestAsked: what cert-manager was asked for is found, also when the cluster is gone; Certificates of others are not,
// nor is anything where there is no cert-manager.
func TestAsked(t *testing.T) {
	theirs := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": map[string]any{"namespace": "db", "name": "basic-pd-cluster-secret"},
	}}
	dyn := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), theirs)
	c := cluster()
	made, err := issue.NewCertManager(dyn, c, "mine", issue.Life).Missing(t.Context())
	if err != nil || len(made) == 0 || slices.Contains(made, "basic-pd-cluster-secret") {
		t.Fatalf("%v, %v", made, err)
	}
	slices.Sort(made)
	gone := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "basic"}})
	other := topology.New(&v1alpha1.TidbCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "other"}})
	for name, tt := range map[string]struct {
		cluster topology.Cluster
		want    []string
	}{
		"there": {c, made}, "gone": {gone, made}, "another one": {other, nil},
	} {
		got, err := issue.Asked(t.Context(), dyn, tt.cluster)
		if slices.Sort(got); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tt.want)
		}
	}
	resource := schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}
	got, err := dyn.Resource(resource).Namespace("db").Get(t.Context(), made[0], metav1.GetOptions{})
	if err != nil || !maps.Equal(got.GetLabels(), c.Selector()) {
		t.Errorf("labels %v, %v", got.GetLabels(), err)
	}
	dyn.PrependReactor("get", "certificates", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("forbidden") })
	if got, err := issue.Asked(t.Context(), dyn, c); len(got) > 0 || err == nil {
		t.Errorf("not read: %v, %v", got, err)
	}
}

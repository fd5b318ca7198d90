package drive

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/start"
)

// A field of a later version of TidbCluster is told of by its name.
func TestUnknownFields(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
		"metadata": map[string]any{"namespace": "db", "name": "basic"},
		"spec":     map[string]any{"tikv": map[string]any{"replicas": int64(3), "later": true}},
	}}
	dyn := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"}, u)
	s := &Session{Namespace: "db", Name: "basic", Connections: start.Connections{Intent: intent.New(dyn)}}
	got := s.unknown(t.Context(), Request{Change: intent.Change{Now: &v1alpha1.TidbCluster{}}})
	if len(got) != 1 || !strings.Contains(got[0], "does not know spec.tikv.later:") {
		t.Errorf("told %q", got)
	}
	if got := s.unknown(t.Context(), Request{}); got != nil {
		t.Errorf("of a cluster that is to be made: %q", got)
	}
}

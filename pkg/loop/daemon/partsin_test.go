package daemon

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/core/topology"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/dial"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/reconcile"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// TestPartsIn: a daemon connects to PD of another namespace only where the TidbCluster with PD lets parts of the namespace
// in. The copy of a daemon may not have that TidbCluster, because it keeps one namespace.
func TestPartsIn(t *testing.T) {
	for name, tt := range map[string]struct {
		lets, says string
		of         string
	}{
		"let in":           {lets: "reports", of: "basic"},
		"not let in":       {of: "basic", says: "--overwrite kubectl-tidb/parts-in=reports -n db"},
		"others let in":    {lets: "tests", of: "basic", says: "kubectl-tidb/parts-in=tests,reports"},
		"there is no such": {lets: "reports", of: "other", says: "db/other"},
	} {
		s := setup(t, func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{topology.AnnotationPartsIn: tt.lets})
		})
		part := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(stored), &part.Object); err != nil {
			t.Fatal(err)
		}
		part.SetNamespace("reports")
		part.SetName("more")
		unstructured.RemoveNestedField(part.Object, "spec", "pd")
		_ = unstructured.SetNestedStringMap(part.Object, map[string]string{"namespace": "db", "name": tt.of}, "spec", "cluster")
		if _, err := s.dyn.Resource(intent.Resource).Namespace("reports").Create(t.Context(), part, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		m, err := newMirror(s.kube, intent.New(s.dyn), Scope{Namespace: "reports"})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		d, err := New(Config{Connections: start.Connections{Kube: s.kube, Intent: intent.New(s.dyn), Dialer: dial.Any(nowhere{})}, Scope: Scope{Namespace: "reports"}, Meter: meter{s, "a"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, live := d.Observer("reports", "more").Observe(t.Context(), true); (live != nil) != (tt.says != "") || live != nil && !strings.Contains(live.Error(), tt.says) {
			t.Errorf("%s: read live: %v", name, live)
		}
		_, err = m.sourceOf(cache.NewObjectName("reports", "more")).Intent(t.Context())
		gone := &intent.NotFoundError{}
		switch {
		case tt.says == "" && err != nil, tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says) || !reconcile.IsFinal(err)), errors.As(err, &gone):
			t.Errorf("%s: %v", name, err)
		}
	}
}

package drive

import (
	"strings"
	"testing"

	"github.com/pingcap/tidb-operator/pkg/apis/pingcap/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/exit"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/cli/target"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/edge/intent"
	"github.com/kubectl-tidb/kubectl-tidb/pkg/loop/start"
)

// stored returns a session for a cluster with a spec, and its TidbCluster.
func stored(t *testing.T, uid string, spec map[string]any) (*target.Session, *v1alpha1.TidbCluster) {
	t.Helper()
	dyn := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{intent.Resource: "TidbClusterList"},
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "pingcap.com/v1alpha1", "kind": "TidbCluster",
			"metadata": map[string]any{"namespace": "ns", "name": "t", "uid": uid}, "spec": spec,
		}})
	s := &target.Session{Namespace: "ns", Name: "t", Connections: start.Connections{Intent: intent.New(dyn)}}
	tc, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, tc
}

func spec(version string, replicas int, config string) map[string]any {
	return map[string]any{
		"version": version,
		"tikv":    map[string]any{"replicas": int64(replicas), "config": config},
	}
}

// A run that has asked for a change succeeds only if the cluster has converged to that, also when
// another process drove it.
func TestReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		before, asked, now map[string]any
		another            bool // TidbCluster of that name
		says               string
	}{
		"it is as asked":            {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), spec("v8.1.0", 4, ""), false, ""},
		"replaced":                  {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), spec("v8.1.0", 5, ""), false, "spec.tikv.replicas is 5 now, and 4 was asked for"},
		"taken back":                {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), spec("v8.1.0", 3, ""), false, "spec.tikv.replicas is 3 now, and 4 was asked for"},
		"another field was changed": {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), spec("v8.1.1", 4, ""), false, ""},
		"its component is gone":     {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), map[string]any{"version": "v8.1.0"}, false, "spec.tikv.replicas is not set now, and 4 was asked for"},
		"config in other words":     {spec("v8.1.0", 3, ""), spec("v8.1.0", 3, "[a]\nb = 1\n"), spec("v8.1.0", 3, "[a]\n  b=1"), false, ""},
		"created again":             {spec("v8.1.0", 3, ""), spec("v8.1.0", 4, ""), spec("v8.1.0", 4, ""), true, "was deleted during the run"},
	} {
		t.Run(name, func(t *testing.T) {
			_, before := stored(t, "u", tc.before)
			_, asked := stored(t, "u", tc.asked)
			uid := "u"
			if tc.another {
				uid = "other"
			}
			s, _ := stored(t, uid, tc.now)
			err := replaced(t.Context(), s, before, asked)
			if tc.says == "" && err == nil {
				return
			}
			if tc.says == "" || exit.Of(err) != exit.Aborted || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
}

// A command that changes nothing itself succeeds with every spec.
func TestNothingAsked(t *testing.T) {
	s, tc := stored(t, "u", spec("v8.1.0", 3, ""))
	if err := replaced(t.Context(), s, tc, nil); err != nil {
		t.Error(err)
	}
}
